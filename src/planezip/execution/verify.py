"""Whether an operator computes the same bits when it runs again: tried, not believed."""

from collections.abc import Iterable
from typing import Any

import torch

from planezip.execution.device import Memory
from planezip.execution.geometry import whole
from planezip.execution.replay import copied, run
from planezip.execution.schema import tensors_in
from planezip.execution.tape import Tape, TapeOp


class Trial:
    """One operator, about to run for the first time.

    Args:
        tensors: its tensor arguments with the values that they hold.
    """

    def __init__(
        self, op: TapeOp, tensors: Iterable[tuple[int, torch.Tensor]], mutated: set[int]
    ) -> None:
        self._op = op
        self._generator_state = torch.default_generator.get_state()
        self._memory: dict[int, Memory] = {}
        for value, tensor in tensors:
            if value not in self._memory:
                memory = tensor.untyped_storage()
                self._memory[value] = copied(memory) if value in mutated else memory

    def succeeds(self, tape: Tape, written: Iterable[torch.Tensor], out: Any) -> bool:
        """Run the operator again, now that it has run, and compare all that it made.

        Args:
            written: its arguments that it wrote, in the order of TapeOp.mutated.
            out: what it returned.
        """
        op = self._op
        drew = not torch.equal(self._generator_state, torch.default_generator.get_state())
        if drew and op.generator_state is None:
            return False
        try:
            made = run(op, self._memory.get, {})
        except Exception:  # whatever it is, it did not happen the first time
            return False
        pairs = [(new, t) for (_, new), t in zip(op.mutated, written, strict=True)]
        pairs += [(v, t) for v, t in zip(op.results, tensors_in(out), strict=True) if v >= 0]
        return all(
            _same_bits(made[v], tensor.untyped_storage())
            for v, tensor in pairs
            if tape.values[v].defined
        )


def _same_bits(a: Memory, b: Memory) -> bool:
    return torch.equal(whole(a, torch.uint8), whole(b, torch.uint8))

"""Computes values of a forward pass again, bit for bit."""

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import torch

from planezip.execution.device import Memory
from planezip.execution.geometry import view
from planezip.execution.guards import restored
from planezip.execution.schema import generator_of, tensors_in
from planezip.execution.tape import Items, Operand, Tape, TapeOp

Find = Callable[[int], Memory | None]


class NotReplayableError(Exception):
    """A value would have to be recomputed from what cannot be.

    Attributes:
        value: the one that nothing recomputes.
    """

    def __init__(self, value: int) -> None:
        self.value = value
        super().__init__(f"value {value} cannot be recomputed")


def positions(tape: Tape, targets: Iterable[int], available: Callable[[int], bool]) -> list[int]:
    """Indices of the operators that recompute `targets` from what is available, ascending.

    Raises:
        NotReplayableError: nothing can recompute one of the values that it takes.
    """
    found: set[int] = set()
    pending = list(targets)
    while pending:
        value = tape.values[pending.pop()]
        if value.producer < 0 or value.external or not value.repeatable:
            raise NotReplayableError(value.index)
        if value.producer in found:
            continue
        found.add(value.producer)
        pending += [v for v in tape.ops[value.producer].reads if not available(v)]
    return sorted(found)


def replay(
    tape: Tape,
    targets: Iterable[int],
    find: Find,
    stays: Callable[[int], bool],
    on_op: Callable[[int, float], None] | None = None,
) -> dict[int, Memory]:
    """Recompute `targets`.

    Args:
        find: gives the memory of a value that need not be recomputed, None if it has none. It is
            never written.
        stays: whether another value that is recomputed on the way is to be returned, too.
        on_op: called after every operator with its index and when it began (perf_counter).

    Returns:
        The memory of the targets and of what stays.

    Raises:
        NotReplayableError: nothing can recompute one of the values that it takes.
    """
    targets = set(targets)
    order = positions(tape, targets, lambda v: find(v) is not None)
    last_read = {v: i for i in order for v in tape.ops[i].reads}
    scratch: dict[int, Memory] = {}
    results: dict[int, Memory] = {}

    def made_or_found(v: int) -> Memory | None:
        for memory in (scratch.get(v), results.get(v)):
            if memory is not None:
                return memory
        return find(v)

    for i in order:
        start_s = perf_counter()
        with restored(tape.ops[i].environment):
            made = run(tape.ops[i], made_or_found, scratch)
        for v in list(made):
            (results if v in targets or stays(v) else scratch)[v] = made.pop(v)
        for v in [v for v in scratch if last_read.get(v, -1) <= i]:
            del scratch[v]
        if on_op is not None:
            on_op(i, start_s)
    return results


def run(op: TapeOp, find: Find, scratch: dict[int, Memory]) -> dict[int, Memory]:
    """Run one operator again and return the memory of the values that it makes.

    What it writes in place is copied first, unless it is in `scratch`, from where it is taken: it
    holds the new value afterwards.
    """
    writable = {}
    for operand, _ in op.mutated:
        v = operand.value
        if v not in writable:
            writable[v] = scratch.pop(v) if v in scratch else copied(_found(find, v))

    args = [_thawed(argument, find, writable) for argument in op.args]
    kwargs = {name: _thawed(value, find, writable) for name, value in op.kwargs.items()}
    out = _call(op, args, kwargs)
    made = {new: writable[operand.value] for operand, new in op.mutated}
    for value, tensor in zip(op.results, tensors_in(out), strict=True):
        if value >= 0:
            made[value] = tensor.untyped_storage()
    return made


# No inner function: one that calls itself is a reference cycle, and memory would wait for the
# garbage collector.
def _thawed(argument: Any, find: Find, writable: dict[int, Memory]) -> Any:
    """A frozen argument as the operator takes it."""
    if isinstance(argument, Operand):
        memory = writable.get(argument.value)
        return view(_found(find, argument.value) if memory is None else memory, argument.geometry)
    if isinstance(argument, Items):
        return [_thawed(member, find, writable) for member in argument.members]
    return argument


def _found(find: Find, value: int) -> Memory:
    memory = find(value)
    if memory is None:
        raise NotReplayableError(value)
    return memory


def copied(memory: Memory) -> Memory:
    """New memory of the same contents."""
    copy = torch.UntypedStorage(memory.nbytes(), device=memory.device)  # type: ignore[no-untyped-call]
    copy.copy_(memory)
    return copy


def _call(op: TapeOp, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """As the operator ran in forward: below autograd and autocast, with its grad mode and random
    numbers."""
    generator = generator_of(args, kwargs)
    found = generator.get_state() if op.generator_state is not None else None
    try:
        if op.generator_state is not None:
            generator.set_state(op.generator_state)
        with (
            torch.set_grad_enabled(op.grad_enabled),
            torch._C._AutoDispatchBelowAutograd(),
            torch._C._DisableAutocast(),  # what it cast in forward is on the tape
        ):
            return op.func(*args, **kwargs)
    finally:
        if found is not None:
            generator.set_state(found)

"""Whether a forward pass runs the operators that an earlier one ran."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from planezip.execution.geometry import Geometry
from planezip.execution.schema import schema_of
from planezip.execution.tape import Items, Operand, TapeOp


class Pack(NamedTuple):
    """A tensor that autograd saved: after how many operators, which value, lying how."""

    position: int
    value: int
    geometry: Geometry


@dataclass(frozen=True, slots=True)
class Sequence:
    """The operators of a forward pass and what autograd saved, in order.

    Two passes are alike if they run the same operators on the same values in the same geometry with
    the same sizes, flags and names. Numbers that operators compute with may differ, and where in
    its storage a tensor begins, as a batch in a data set: a replay takes those of its own pass, and
    they decide neither sizes nor order.

    Attributes:
        unrepeatable: values that no replay may compute.
        accumulates: as of its tape; the memory of backward depends on it.
    """

    ops: tuple[TapeOp, ...]
    packs: tuple[Pack, ...]
    unrepeatable: frozenset[int] = frozenset()
    accumulates: bool = False

    def is_like(self, other: "Sequence") -> bool:
        """Whether the other pass is like this one, from the first operator to the last."""
        return (
            self.accumulates == other.accumulates
            and len(self.ops) == len(other.ops)
            and len(self.packs) == len(other.packs)
            and all(map(self.has_op, range(len(self.ops)), other.ops))
            and all(map(self.has_pack, range(len(self.packs)), other.packs))
        )

    def has_op(self, index: int, op: TapeOp) -> bool:
        """Whether `op` is what ran as number `index`."""
        if index >= len(self.ops):
            return False
        mine = self.ops[index]
        return (
            mine.func is op.func
            and mine.environment == op.environment
            and mine.results == op.results
            and alike(mine.args, op.args, schema_of(op.func).numbers)
            and alike(mine.kwargs, op.kwargs, schema_of(op.func).numbers)
        )

    def has_pack(self, index: int, pack: Pack) -> bool:
        """Whether `pack` is what autograd saved as number `index`."""
        if index >= len(self.packs):
            return False
        mine = self.packs[index]
        return mine == pack or (mine[:2] == pack[:2] and mine.geometry.is_like(pack.geometry))


def alike(a: Any, b: Any, numbers: frozenset[str | int]) -> bool:
    """Equal but for floating-point numbers, and the arguments in `numbers` by position or name."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(
            _same(value, b[k], k in numbers) for k, value in a.items()
        )
    return len(a) == len(b) and all(
        _same(x, y, i in numbers) for i, (x, y) in enumerate(zip(a, b, strict=True))
    )


def _same(a: Any, b: Any, number: bool) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, Items):
        if len(a.members) != len(b.members):
            return False
        return all(_same(x, y, number) for x, y in zip(a.members, b.members, strict=True))
    if isinstance(a, Operand):
        return a == b or (a.value == b.value and a.geometry.is_like(b.geometry))
    if isinstance(a, torch.ScriptObject):  # a process group or its like, which nothing repeats
        return True
    return isinstance(a, _NUMBERS if number else float) or a is b or bool(a == b)


_NUMBERS = (float, int, complex)

"""When to bring swapped tensors back (Algorithm 1, line 12)."""

from collections.abc import Mapping
from types import MappingProxyType

from planezip.errors import PlanOverflowError
from planezip.planning.layout import Int64
from planezip.planning.program import Program
from planezip.records import Swap

_FIRST_STRETCH = 64
RESERVE = 100
"""Prefetches leave the hundredth part of all compressed bytes free, since these are predictions: no
copy would make good what the next iteration compresses worse."""


def place_prefetches(
    program: Program,
    bytes_of: list[int],
    budget_bytes: int,
    delays: Mapping[int, int] = MappingProxyType({}),
) -> tuple[Swap, ...]:
    """Give every tensor that is away the earliest point from which memory stays within the budget.

    Tensors are placed in order of first need, so that one needed soon is not kept waiting by one
    needed late that took its room; replays count in the memory that must stay within the budget.

    Args:
        delays: storage -> steps by which its prefetch is to come later than that.

    Raises:
        PlanOverflowError: something is to be decompressed at its use at the latest, and there is
            no room for it beside its compressed bytes.
    """
    memory = program.memory.copy()
    room_bytes = budget_bytes - sum(r.resident_bytes for r in program.residences) // RESERVE
    swaps = []
    for r in sorted(program.residences, key=lambda r: (r.needed_by, r.storage)):
        size = bytes_of[r.storage]
        if r.resident_bytes and memory[r.needed_by] > budget_bytes:
            raise PlanOverflowError(r.needed_by, int(memory[r.needed_by]), budget_bytes)
        start = _after_last_above(memory, r.release_after + 1, r.needed_by, room_bytes - size)
        start = min(start + delays.get(r.storage, 0), r.needed_by)
        memory[start : r.needed_by] += size
        times = (r.out_after, r.release_after, start, r.needed_by)
        swaps.append(Swap(r.storage, *times, in_place=r.resident_bytes > 0))
    return tuple(swaps)


def _after_last_above(memory: Int64, start: int, stop: int, limit: int) -> int:
    """The first index in start..stop from which on memory stays within the limit until `stop`.

    Searches from the end in growing stretches: the answer is mostly near it.
    """
    length = _FIRST_STRETCH
    while stop > start:
        begin = max(start, stop - length)
        (above,) = (memory[begin:stop] > limit).nonzero()
        if above.size:
            return begin + int(above[-1]) + 1
        stop, length = begin, 2 * length
    return start

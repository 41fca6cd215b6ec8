"""When to bring swapped tensors back (Algorithm 1, line 12)."""

import numpy as np

from planezip.planning.program import Program
from planezip.records import Swap


def place_prefetches(program: Program, bytes_of: list[int], budget_bytes: int) -> tuple[Swap, ...]:
    """Give every swapped tensor the earliest point from which memory stays within the budget.

    Tensors are placed in order of first need, so that one needed soon is not kept waiting by one
    needed late that took its room; replays count in the memory that must stay within the budget.
    """
    memory = program.memory.copy()
    swaps = []
    for r in sorted(program.residences, key=lambda r: (r.needed_by, r.storage)):
        size = bytes_of[r.storage]
        away = memory[r.release_after + 1 : r.needed_by]
        too_full = np.flatnonzero(away > budget_bytes - size)
        start = r.release_after + 1 + (int(too_full[-1]) + 1 if too_full.size else 0)
        memory[start : r.needed_by] += size
        swaps.append(Swap(r.storage, r.out_after, r.release_after, start, r.needed_by))
    return tuple(swaps)

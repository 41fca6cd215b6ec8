"""What stage two of Algorithm 1 evicts next: the cheapest idle tensor at the peak."""

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np

from planezip.planning.draft import Draft
from planezip.planning.problem import Candidate

EvictionCost = Callable[[Candidate], float]  # seconds
Way = Literal["swap", "compress", "drop"]
Choice = tuple[int, Way | Literal["free"]]
_SHORTEST_IDLE_S = 1e-12


class Scores:
    """Cost over bytes times idle time of every candidate (DTR's heuristic; with swaps, Eq. 1).

    The bytes are those that leave: all, or those that compressing in place saves; and of what is
    compressed already those that are left.

    Where replays keep what they recompute, cost over bytes: a tensor's idle time then depends on
    who else is dropped. Scores change only where a drop changes a charge, so that a choice is one
    look for the smallest in an array. Ties go to the tensor produced first.
    """

    def __init__(
        self,
        draft: Draft,
        swap_cost_s: EvictionCost | None = None,
        compress_cost_s: EvictionCost | None = None,
    ) -> None:
        self._draft = draft
        problem = draft.problem
        self._candidates = list(problem.candidates.values())
        self._swap_s, self._compress_s = (
            [cost_s(c) for c in self._candidates] if cost_s else [np.inf] * len(self._candidates)
            for cost_s in (swap_cost_s, compress_cost_s)
        )
        self._ways: list[Way] = ["drop"] * len(self._candidates)
        self._no_drop = [not draft.costs.can_drop(c.storage) for c in self._candidates]
        self._evict = np.full(len(self._candidates), np.inf)
        self._free = np.full(len(self._candidates), np.inf)
        self._any_free = False
        self.update(problem.candidates)

    def cheapest(self) -> Choice | None:
        """What to do next at the draft's peak, None if nothing idle there can leave."""
        draft, problem = self._draft, self._draft.problem
        if not self._candidates:
            return None
        peak = draft.peak
        evict = self._evict
        k = int(evict.argmin())
        if not problem.last_forward_uses[k] < peak < draft.back[k]:  # mostly it is idle there
            idle = (problem.last_forward_uses < peak) & (peak < draft.back)
            evict = np.where(idle, evict, np.inf)
            k = int(evict.argmin())
        best = float(evict[k])
        if self._any_free:
            early = (draft.back <= peak) & (peak < problem.first_backward_uses)
            free = np.where(early, self._free, np.inf)
            if float(free.min()) < best:
                return self._candidates[int(free.argmin())].storage, "free"
        return (self._candidates[k].storage, self._ways[k]) if best < np.inf else None

    def update(self, changed: Iterable[int]) -> None:
        """Score again the candidates whose charge has changed, or that are back earlier."""
        for t in changed:
            self._score(self._draft.problem.rank[t])

    def forbid_drop(self, t: int) -> None:
        """Never drop t: its replay would not fit."""
        k = self._draft.problem.rank[t]
        self._no_drop[k] = True
        self._score(k)

    def forbid_swap(self, t: int) -> None:
        """Never swap t: the host has no room for it."""
        k = self._draft.problem.rank[t]
        self._swap_s[k] = np.inf
        self._score(k)

    def _score(self, k: int) -> None:
        draft, c = self._draft, self._candidates[k]
        self._evict[k] = self._free[k] = np.inf
        if draft.actions[c.storage] in ("keep", "compress"):
            idle_s = 1.0 if draft.costs.kept else max(c.idle_s, _SHORTEST_IDLE_S)
            self._evict[k], self._ways[k] = self._cheapest_way(k, idle_s)
        elif (
            c.storage in draft.costs.dropped
            and c.storage not in draft.freed
            and draft.back[k] < c.first_backward_use
        ):
            # Freed, it is recomputed for all but one of those whose replay needs it, and itself.
            times = len(draft.costs.dropped_dependants(c.storage))
            self._free[k] = times * draft.costs.seconds(c.storage) / c.bytes
            self._any_free = True

    def _drop_s(self, k: int) -> float:
        if self._no_drop[k]:
            return float("inf")
        return self._draft.costs.charge_s(self._candidates[k].storage)

    def _cheapest_way(self, k: int, idle_s: float) -> tuple[float, Way]:
        """The least score and how it is reached; endless if there is no way."""
        draft, c = self._draft, self._candidates[k]
        drop_s, swap_s = self._drop_s(k), self._swap_s[k]
        compressed = draft.actions[c.storage] == "compress"
        left = draft.resident_bytes(c.storage) if compressed else c.bytes
        score = min(drop_s, swap_s) / (left * idle_s)
        way: Way = "drop" if drop_s <= swap_s else "swap"
        if not compressed and self._compress_s[k] < np.inf and draft.may_compress(c.storage):
            saved = c.bytes - draft.resident_bytes(c.storage)
            other = self._compress_s[k] / (saved * idle_s)
            if other < score:
                return other, "compress"
        return score, way

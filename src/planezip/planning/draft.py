"""A plan under construction: an action for every candidate and the memory that they leave."""

from collections.abc import Iterable

from planezip.planning.problem import Problem
from planezip.planning.replay import ReplayCosts
from planezip.records import Action


class Draft:
    """Actions under construction; all start as "keep".

    Attributes:
        actions: candidate -> action.
        freed: dropped candidates that a replay of another one frees again after reading them.
        memory: activation bytes during every position if `actions` were carried out at once, int64.
        back: by rank, the position from which on a candidate is in memory again, int64: its first
            use in backward or, where replays keep what they recompute, the first replay that
            reads it.
    """

    def __init__(self, problem: Problem, costs: ReplayCosts) -> None:
        self.problem, self.costs = problem, costs
        self.actions: dict[int, Action] = dict.fromkeys(problem.candidates, "keep")
        self.freed: set[int] = set()
        self.memory = problem.memory.copy()
        self.back = problem.first_backward_uses.copy()
        self._peak: int | None = None

    @property
    def peak(self) -> int:
        """The first position where memory is largest."""
        if self._peak is None:
            self._peak = int(self.memory.argmax())
        return self._peak

    @property
    def peak_bytes(self) -> int:
        return int(self.memory[self.peak]) if self.memory.size else 0

    @property
    def stays(self) -> tuple[int, ...]:
        """Dropped candidates that stay once a replay has recomputed them, until their last use."""
        return tuple(sorted(self.costs.dropped - self.freed)) if self.costs.kept else ()

    def evict(self, t: int, action: Action) -> set[int]:
        """Swap or drop t: its bytes leave for the time in which it is idle.

        Returns:
            The candidates whose charge or idle time that changes.
        """
        self.actions[t] = action
        candidate, back = self.problem.candidates[t], int(self.back[self.problem.rank[t]])
        self.memory[candidate.last_forward_use + 1 : back] -= candidate.bytes
        self._peak = None
        if action != "drop":
            return set()
        changed = self.costs.drop(t)
        return self._bring_back(self.costs.frontier[t], back) if self.costs.kept else changed

    def free_after_replays(self, t: int) -> None:
        """Do not let the dropped t stay when the replay of another tensor recomputes it."""
        self.freed.add(t)
        k, candidate = self.problem.rank[t], self.problem.candidates[t]
        self.memory[int(self.back[k]) : candidate.first_backward_use] -= candidate.bytes
        self._peak = None

    def _bring_back(self, read: Iterable[int], position: int) -> set[int]:
        """A replay at `position` reads these candidates and recomputes those that are dropped."""
        changed = set()
        pending = list(read)
        while pending:
            t = pending.pop()
            k, candidate = self.problem.rank[t], self.problem.candidates[t]
            before = int(self.back[k])
            if before <= position:
                continue
            self.back[k] = position
            changed.add(t)
            if self.actions[t] != "keep" and t not in self.freed:
                self.memory[position:before] += candidate.bytes
            if self.actions[t] == "drop":
                pending += self.costs.frontier[t]
        return changed

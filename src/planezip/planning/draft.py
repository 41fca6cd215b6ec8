"""A plan under construction: an action for every candidate and the memory that they leave."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from planezip.planning.problem import Problem
from planezip.planning.replay import ReplayCosts
from planezip.records import Action, compressed_bytes


@dataclass(frozen=True, slots=True)
class HostPool:
    """A limit on what the host holds.

    Attributes:
        bytes_of: candidate -> what it takes there once it is swapped.
    """

    capacity_bytes: int
    bytes_of: Mapping[int, int]


class Draft:
    """Actions under construction; all start as "keep".

    Args:
        ratios: candidate -> compression ratio; left-out ones count as 1.
        pool: what bounds the swaps, None if nothing does.

    Attributes:
        actions: candidate -> action.
        freed: dropped candidates that a replay of another one frees again after reading them.
        memory: activation bytes during every position if `actions` were carried out at once, int64.
        back: by rank, the position from which on a candidate is in memory again, int64: its first
            use in backward or, where replays keep what they recompute, the first replay that
            reads it.
    """

    def __init__(
        self,
        problem: Problem,
        costs: ReplayCosts,
        ratios: Mapping[int, float] = MappingProxyType({}),
        pool: HostPool | None = None,
    ) -> None:
        self.problem, self.costs = problem, costs
        self._ratios, self._pool, self._pooled_bytes = ratios, pool, 0
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

    def resident_bytes(self, t: int) -> int:
        """What t takes in device memory compressed."""
        return compressed_bytes(self.problem.bytes[t], self._ratios.get(t, 1.0))

    def may_compress(self, t: int) -> bool:
        """Whether compressing t in place makes room; it never does at a ratio of one."""
        return self.resident_bytes(t) < self.problem.bytes[t]

    def may_swap(self, t: int) -> bool:
        """Whether the host has room for t."""
        pool = self._pool
        return pool is None or self._pooled_bytes + pool.bytes_of[t] <= pool.capacity_bytes

    def evict(self, t: int, action: Action) -> set[int]:
        """Swap, compress or drop t: bytes leave for the time in which it is idle.

        What is compressed may be swapped or dropped after all.

        Returns:
            The candidates whose charge or idle time that changes.
        """
        before = self._away_bytes(t)
        self.actions[t] = action
        candidate, back = self.problem.candidates[t], int(self.back[self.problem.rank[t]])
        self.memory[candidate.last_forward_use + 1 : back] -= self._away_bytes(t) - before
        self._peak = None
        if action == "swap" and self._pool:
            self._pooled_bytes += self._pool.bytes_of[t]
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

    def _away_bytes(self, t: int) -> int:
        """By how much memory is smaller while t is away."""
        action, size = self.actions[t], self.problem.bytes[t]
        if action == "compress":
            return size - self.resident_bytes(t)
        return 0 if action == "keep" else size

    def _bring_back(self, read: Iterable[int], position: int) -> set[int]:
        """A replay at `position` reads these candidates and recomputes those that are dropped."""
        changed = set()
        pending = list(read)
        while pending:
            t = pending.pop()
            k = self.problem.rank[t]
            before = int(self.back[k])
            if before <= position:
                continue
            self.back[k] = position
            changed.add(t)
            if self.actions[t] != "keep" and t not in self.freed:
                self.memory[position:before] += self._away_bytes(t)
            if self.actions[t] == "drop":
                pending += self.costs.frontier[t]
        return changed

"""Which operators a replay runs (paper II-A, III-C).

Values are (storage, version), so in-place operators and temporaries that were not saved belong to
a replay where it needs them: a batch-norm output that was cloned before an in-place activation
overwrote it is recomputed, not read from the storage that now holds something else.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

from planezip.planning.problem import Problem, Value


class NotReplayableError(Exception):
    """Nothing recomputes a value: the batch, or what was computed from an overwritten batch."""


Available = Callable[[int, int], bool]  # (storage, version) -> it can be read at the replay


def replay_positions(
    problem: Problem, targets: Iterable[Value], available: Available
) -> tuple[list[int], set[int]]:
    """Positions that recompute `targets`, ascending, and the available storages that they read.

    A value that exists before the iteration can be read unless something overwrote it.

    Raises:
        NotReplayableError: a replay would need a value that was overwritten.
    """
    positions: set[int] = set()
    inputs: set[int] = set()
    pending = list(targets)
    while pending:
        storage, version = pending.pop()
        if version == 0:
            if storage in problem.writers:
                raise NotReplayableError(storage)
            inputs.add(storage)
            continue
        position = problem.writers[storage][version - 1]
        if position in positions:
            continue
        positions.add(position)
        for read in problem.reads[position]:
            if available(*read):
                inputs.add(read[0])
            else:
                pending.append(read)
    return sorted(positions), inputs


def replay_peak_bytes(problem: Problem, positions: list[int], target: int) -> int:
    """Peak memory of what a replay writes, its target included, freed after the last use in it."""
    last_use: dict[int, int] = {}
    written: set[int] = set()
    for index, position in enumerate(positions):
        written.update(problem.writes[position])
        for s in {*problem.writes[position], *(s for s, _ in problem.reads[position])} & written:
            last_use[s] = index
    last_use[target] = len(positions)
    resident = peak = 0
    live: set[int] = set()
    for index, position in enumerate(positions):
        new = set(problem.writes[position]) - live
        live |= new
        resident += sum(problem.bytes[s] for s in new)
        peak = max(peak, resident)
        dead = {s for s in live if last_use[s] == index}
        live -= dead
        resident -= sum(problem.bytes[s] for s in dead)
    return peak


class ReplayCosts:
    """Replay cost of every candidate while drops accumulate.

    `frontier[t]` holds the candidates that a replay of t reads, `positions[t]` the operators that
    it runs; dropping one of its frontier makes both grow. `dropped_dependants(t)` are the dropped
    tensors whose replay reads t and would have to replay it too.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.positions: dict[int, frozenset[int]] = {}
        self.frontier: dict[int, frozenset[int]] = {}
        self.seconds: dict[int, float] = {}
        self.dropped: set[int] = set()
        for t in problem.candidates:
            if t in problem.writers:
                with suppress(NotReplayableError):
                    self._start(t)
        self._readers: dict[int, set[int]] = {t: set() for t in problem.candidates}
        for t, frontier in self.frontier.items():
            for read in frontier:
                self._readers[read].add(t)

    def copy(self) -> "ReplayCosts":
        """An independent copy, cheap enough for one per candidate plan."""
        twin = object.__new__(ReplayCosts)
        twin._problem = self._problem
        twin.positions, twin.frontier = dict(self.positions), dict(self.frontier)
        twin.seconds, twin.dropped = dict(self.seconds), set(self.dropped)
        twin._readers = {t: set(readers) for t, readers in self._readers.items()}
        return twin

    def can_drop(self, t: int) -> bool:
        """Whether t can be replayed at all; the batch, for one, cannot."""
        return t in self.positions

    def dropped_dependants(self, t: int) -> set[int]:
        return self._readers[t] & self.dropped

    def charge_s(self, t: int) -> float:
        """Recomputation that dropping t adds: its replay, once more for every dropped dependant."""
        return self.seconds[t] * (1 + len(self.dropped_dependants(t)))

    def after_drop(self, t: int, dependant: int) -> frozenset[int]:
        """Positions that a replay of `dependant` would run if t were dropped too."""
        return self.positions[dependant] | self.positions[t]

    def drop(self, t: int) -> None:
        """Record that t is dropped: every replay that reads it now replays it as well."""
        self.dropped.add(t)
        for reader in self._readers[t]:
            self.positions[reader] = self.after_drop(t, reader)
            self.seconds[reader] = self._seconds(self.positions[reader])
            self.frontier[reader] = (self.frontier[reader] - {t}) | self.frontier[t]
            for read in self.frontier[t]:
                self._readers[read].add(reader)
        self._readers[t] = set()

    def _start(self, t: int) -> None:
        problem = self._problem
        target = (t, problem.forward_version[t])
        positions, inputs = replay_positions(
            problem,
            [target],
            lambda s, version: s in problem.candidates and version == problem.forward_version[s],
        )
        self.positions[t] = frozenset(positions)
        self.frontier[t] = frozenset(inputs & problem.candidates.keys())
        self.seconds[t] = self._seconds(self.positions[t])

    def _seconds(self, positions: frozenset[int]) -> float:
        return sum(self._problem.seconds[p] for p in sorted(positions))

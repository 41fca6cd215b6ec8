"""Which operators a replay runs (paper II-A, III-C).

Values are (storage, version), so in-place operators and temporaries that were not saved belong to
a replay where it needs them: a batch-norm output that was cloned before an in-place activation
overwrote it is recomputed, not read from the storage that now holds something else.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import copy

import numpy as np

from planezip.planning.problem import Problem, Value


class NotReplayableError(Exception):
    """Nothing recomputes a value: the batch, or what was computed from an overwritten batch."""


Available = Callable[[int, int], bool]  # (storage, version) -> it can be read at the replay
Joining = Callable[[int], Iterable[Value]]  # position that is replayed -> further targets


def replay_positions(
    problem: Problem,
    targets: Iterable[Value],
    available: Available,
    joining: Joining = lambda position: (),
) -> tuple[list[int], set[int]]:
    """Positions that recompute `targets`, ascending, and the available storages that they read.

    A value that exists before the iteration can be read unless something overwrote it.

    Raises:
        NotReplayableError: a replay would need a value that was overwritten, or run an operator
            that is not repeatable.
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
        if not problem.ops[position].repeatable:
            raise NotReplayableError(storage)
        positions.add(position)
        pending += joining(position)
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


TICKS_PER_S = 1 << 50
"""Durations are summed as whole ticks, so that sums do not depend on the order of adding."""


class ReplayCosts:
    """Replay cost of every candidate while drops accumulate.

    Sets of positions are bits of an integer: bit p of `positions[t]` is set if a replay of t runs
    the operator at p. Two semantics (paper III-C and docs/model.md):

    - freed: a replay that reads a dropped tensor replays that one too and frees it again. Dropping
      t makes the replay of every reader longer.
    - kept (`kept`): what a replay recomputes stays until its own last use, so that every dropped
      tensor is recomputed once. Replays never grow.

    Attributes:
        positions: what a replay of t runs.
        frontier: the candidates that it reads.
        ticks: its duration.
        written_bytes: an upper bound of what it writes.
        dropped: the tensors dropped so far.
    """

    def __init__(self, problem: Problem, kept: bool = False) -> None:
        self._problem = problem
        self.kept = kept
        self.positions: dict[int, int] = {}
        self.frontier: dict[int, frozenset[int]] = {}
        self.ticks: dict[int, int] = {}
        self.written_bytes: dict[int, int] = {}
        self.dropped: set[int] = set()
        self._ticks_at = [round(s * TICKS_PER_S) for s in problem.seconds]
        for t in problem.candidates:
            if t in problem.writers:
                with suppress(NotReplayableError):
                    self._start(t)
        # Few sets of a copy ever change, so they are replaced rather than changed.
        self._readers: dict[int, frozenset[int]] = dict.fromkeys(problem.candidates, frozenset())
        self._dependants = self._readers.copy()
        for t, frontier in self.frontier.items():
            for read in frontier:
                self._readers[read] |= {t}

    def copy(self) -> "ReplayCosts":
        """An independent copy, cheap enough for one per candidate plan."""
        twin = copy(self)
        for name in (
            "_readers",
            "_dependants",
            "positions",
            "frontier",
            "ticks",
            "written_bytes",
            "dropped",
        ):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def can_drop(self, t: int) -> bool:
        """Whether t can be replayed at all; the batch, for one, cannot."""
        return t in self.positions

    def seconds(self, t: int) -> float:
        """Duration of t's replay."""
        return self.ticks[t] / TICKS_PER_S

    def dropped_dependants(self, t: int) -> frozenset[int]:
        """The dropped tensors whose replay reads t."""
        return self._dependants[t]

    def charge_s(self, t: int) -> float:
        """Recomputation that dropping t adds: its replay, once more for every dropped dependant.

        Where replays keep what they recompute, the dependants' replays use the same copy.
        """
        times = 1 if self.kept else 1 + len(self._dependants[t])
        return self.ticks[t] * times / TICKS_PER_S

    def drop(self, t: int) -> set[int]:
        """Record that t is dropped; the candidates whose charge that changes."""
        self.dropped.add(t)
        for read in self.frontier[t]:
            self._dependants[read] |= {t}
        if self.kept:
            return set()
        changed = set(self.frontier[t])
        readers, dropped = self._readers[t], self._dependants[t]
        self._readers[t] = self._dependants[t] = frozenset()
        for reader in readers:
            self._extend(reader, t)
            changed.add(reader)
        for read in self.frontier[t]:
            self._readers[read] |= readers
            self._dependants[read] |= dropped
        return changed

    def _extend(self, reader: int, t: int) -> None:
        """From now on a replay of `reader` replays t as well."""
        added = self.positions[t] & ~self.positions[reader]
        self.positions[reader] |= added
        self.written_bytes[reader] += self.written_bytes[t]
        self.frontier[reader] = (self.frontier[reader] - {t}) | self.frontier[t]
        shared = self.positions[t] & ~added
        if added.bit_count() < shared.bit_count():
            self.ticks[reader] += self._ticks(added)
        else:
            self.ticks[reader] += self.ticks[t] - self._ticks(shared)

    def _start(self, t: int) -> None:
        problem = self._problem
        target = (t, problem.forward_version[t])
        positions, inputs = replay_positions(
            problem,
            [target],
            lambda s, version: s in problem.candidates and version == problem.forward_version[s],
        )
        self.positions[t] = sum(1 << p for p in positions)
        self.frontier[t] = frozenset(inputs & problem.candidates.keys())
        self.ticks[t] = sum(self._ticks_at[p] for p in positions)
        self.written_bytes[t] = sum(problem.bytes[s] for p in positions for s in problem.writes[p])

    def _ticks(self, positions: int) -> int:
        return sum(self._ticks_at[p] for p in bits(positions))


def bits(positions: int) -> list[int]:
    """The indices of the bits that are set, ascending."""
    if not positions:
        return []
    lowest = (positions & -positions).bit_length() - 1
    shifted = positions >> lowest
    octets = np.frombuffer(shifted.to_bytes((shifted.bit_length() + 7) // 8, "little"), np.uint8)
    found: list[int] = (np.flatnonzero(np.unpackbits(octets, bitorder="little")) + lowest).tolist()
    return found

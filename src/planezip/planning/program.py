"""From actions to an explicit program: replays inserted, buffers assigned, frees placed.

Semantics of the paper's planner: a dropped tensor is replayed right before its first use in
backward and stays until its last; whatever else the replay recomputed is freed as soon as the
replay no longer reads it, and recomputed again where it is needed again (III-C: its cost "is
charged again for every dropped tensor whose replay needs t"). Dropped tensors of which the plan
says so stay instead, until their own last use. Some of these are recomputed before their turn,
along with a replay that makes what is not saved and what they need as well.

Few steps differ from those of the program that evicts nothing, so only these are made.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from planezip.planning.layout import Int64, Layout
from planezip.planning.lives import Lives
from planezip.planning.problem import Candidate, Problem, Value
from planezip.planning.replay import replay_positions
from planezip.records import Action, Step, compressed_bytes


@dataclass(frozen=True, slots=True)
class Residence:
    """When a storage is away, in step indices (see records.Swap).

    Attributes:
        resident_bytes: what it takes in device memory meanwhile, compressed in place; nothing if
            it is swapped.
    """

    storage: int
    out_after: int
    release_after: int
    needed_by: int
    resident_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """The steps of a plan before its prefetches are placed.

    Attributes:
        memory: activation bytes during every step, int64, with each swapped storage counted
            until `release_after` and again from `needed_by`. In between, what is compressed in
            place counts with its compressed bytes, which last until it is back: the step
            `needed_by` has both before it allocates.
    """

    steps: tuple[Step, ...]
    residences: tuple[Residence, ...]
    scratch: tuple[int, ...]
    memory: Int64


@dataclass(frozen=True, slots=True)
class _ReplayStep:
    """A step of a replay: `touches` are the buffers that it reads or writes."""

    position: int
    into: tuple[int, ...]
    touches: tuple[int, ...]
    allocates: tuple[int, ...]
    replay_for: int


@dataclass(frozen=True, slots=True)
class _Replay:
    """The steps before position `before`; the dropped tensors in `stay` outlast them."""

    before: int
    steps: list[_ReplayStep]
    stay: frozenset[int]


class _Compiler:
    """Lays out the replays in order."""

    def __init__(
        self,
        problem: Problem,
        actions: Mapping[int, Action],
        stays: Collection[int],
        early: Mapping[int, int],
    ) -> None:
        self.problem, self.actions = problem, actions
        self.stays, self.early = frozenset(stays), early
        self.scratch: list[int] = []
        self._scratch_of: dict[int, int] = {}
        self._resident: set[int] = set()  # dropped tensors that a replay brought back
        self._position = 0

    def replays(self) -> list[_Replay]:
        """The replays in order, each before the first position that needs it."""
        problem = self.problem
        dropped = {t for t, action in self.actions.items() if action == "drop"}
        found = []
        for position in sorted({problem.candidates[t].first_backward_use for t in dropped}):
            self._position = position
            needed = [s for s, _ in problem.reads[position] if s in dropped and self._is_away(s)]
            if needed:
                found.append(self._replay(needed))
        return found

    def _replay(self, targets: list[int]) -> _Replay:
        """One replay that leaves `targets` resident in their own buffers."""
        problem = self.problem
        positions, _ = replay_positions(
            problem,
            [(t, problem.forward_version[t]) for t in targets],
            self._is_resident,
            self._joining if self.early else lambda position: (),
        )
        holder: dict[int, int] = {}  # storage -> buffer of the version that this replay made
        steps = []
        for position in positions:
            touches = [
                s if self._is_resident(s, version) else holder.get(s, s)
                for s, version in problem.reads[position]
            ]
            allocates = []
            for s in problem.writes[position]:
                if s not in holder:
                    holder[s] = self._buffer_for(s)
                    allocates.append(holder[s])
            into = tuple(holder.get(s, s) for s in problem.ops[position].writes)
            touches += [holder[s] for s in problem.writes[position]]
            steps.append(
                _ReplayStep(
                    position,
                    into,
                    tuple(dict.fromkeys(touches)),
                    tuple(allocates),
                    targets[-1],
                )
            )
        stay = frozenset(targets) | {s for s in holder if self._may_stay(s, positions)}
        self._resident |= stay
        return _Replay(self._position, steps, stay)

    def _joining(self, position: int) -> list[Value]:
        """What is recomputed along, since it shares something unsaved that is made here."""
        problem = self.problem
        return [
            (t, problem.forward_version[t])
            for t in problem.joiners[position]
            if t in self.stays
            and 0 <= problem.candidates[t].first_backward_use - self._position <= self.early[t]
            and self._is_away(t)
        ]

    def _may_stay(self, storage: int, positions: list[int]) -> bool:
        """Whether the replay leaves the storage as backward will read it, and may keep it."""
        return (
            storage in self.stays
            and self._is_away(storage)
            and self._position <= self.problem.candidates[storage].last_backward_use
            and self.problem.writers[storage][self.problem.forward_version[storage] - 1]
            in positions
        )

    def _is_away(self, dropped: int) -> bool:
        """Whether a dropped tensor has not been replayed yet, or has had its last use."""
        last_use = self.problem.candidates[dropped].last_backward_use
        return dropped not in self._resident or last_use < self._position

    def _is_resident(self, storage: int, version: int) -> bool:
        """Whether the storage's own buffer holds this version during backward."""
        if version != self.problem.forward_version[storage]:
            return False
        action = self.actions.get(storage)
        if action is None:
            return version == 0  # a batch that backward does not read is still there
        return action != "drop" or not self._is_away(storage)

    def _buffer_for(self, storage: int) -> int:
        """The storage's own buffer if a replay may use it, else a scratch buffer."""
        action = self.actions.get(storage)
        if action == "drop" and self._is_away(storage):
            return storage
        if action is None and self.problem.uses[storage][-1] < self.problem.backward_start:
            return storage
        if storage not in self._scratch_of:
            self._scratch_of[storage] = len(self.problem.trace.storages) + len(self.scratch)
            self.scratch.append(storage)
        return self._scratch_of[storage]


def compile_program(
    problem: Problem,
    actions: Mapping[int, Action],
    stays: Collection[int] = (),
    layout: Layout | None = None,
    early: Mapping[int, int] = MappingProxyType({}),
    ratios: Mapping[int, float] = MappingProxyType({}),
) -> Program:
    """Lay out what `actions` (saved storage -> action; every candidate has one) means.

    Args:
        stays: dropped storages that stay until their own last use once a replay of another one
            has recomputed them.
        layout: that of the problem, if it is there already.
        early: those among `stays` -> at how many positions before their first use they may be
            recomputed along with a replay that makes something that is not saved and that their
            last writer reads.
        ratios: compression ratio of what is compressed in place.
    """
    layout = layout or Layout(problem)
    compiler = _Compiler(problem, actions, stays, early)
    replays = compiler.replays()
    inserted = np.zeros(len(problem.ops) + 1, dtype=np.int64)
    for replay in replays:
        inserted[replay.before] += len(replay.steps)
    step_of: list[int] = (np.arange(len(problem.ops)) + np.cumsum(inserted)[:-1]).tolist()
    lives = _lives(problem, layout, actions, replays, step_of)
    size_of = [*problem.bytes, *(problem.bytes[s] for s in compiler.scratch)]
    residences = tuple(
        _residence(problem.candidates[t], step_of, lives, ratios if action == "compress" else None)
        for t, action in actions.items()
        if action in ("swap", "compress")
    )
    steps = _steps(problem, layout, replays, step_of, lives)
    memory = _memory(layout, replays, residences, step_of, lives, size_of)
    return Program(tuple(steps), residences, tuple(compiler.scratch), memory)


def _residence(
    c: Candidate, step_of: list[int], lives: Lives, ratios: Mapping[int, float] | None
) -> Residence:
    """When a candidate is swapped out or, with ratios, compressed in place."""
    own_use = step_of[c.first_backward_use]
    ready = step_of[c.ready] if c.ready >= 0 else -1
    over = step_of[c.last_forward_use] if c.last_forward_use >= 0 else -1
    needed_by = min(own_use, lives.first_replay.get(c.storage, own_use))
    if ratios is None:
        return Residence(c.storage, ready, over, needed_by)
    return Residence(c.storage, over, over, needed_by, compressed_bytes(c.bytes, ratios[c.storage]))


def _lives(
    problem: Problem,
    layout: Layout,
    actions: Mapping[int, Action],
    replays: list[_Replay],
    step_of: list[int],
) -> Lives:
    """Follow the buffers through all replays."""
    ends = {s: step_of[p] for s, p in layout.last_touch.items()}
    dropped = [t for t, action in actions.items() if action == "drop"]
    lives = Lives(ends)
    for t in dropped:
        lives.shorten(t, step_of[problem.candidates[t].last_forward_use])
    for replay in replays:
        index = step_of[replay.before] - len(replay.steps)
        for step in replay.steps:
            for buffer in step.allocates:
                lives.allocate(buffer, index, ends[buffer] if buffer in replay.stay else index)
            for buffer in step.touches:
                lives.touch(buffer, index)
            index += 1
    lives.close()
    return lives


def _steps(
    problem: Problem, layout: Layout, replays: list[_Replay], step_of: list[int], lives: Lives
) -> list[Step]:
    steps: list[Step] = []
    start = 0
    for replay in replays:
        steps += layout.steps[start : replay.before]
        for r in replay.steps:
            freed = lives.freed.get(len(steps))
            free = tuple(b for b in r.touches if b in freed) if freed else ()
            steps.append(Step(problem.ops[r.position].index, r.into, free, r.replay_for))
        start = replay.before
    steps += layout.steps[start:]
    for position in lives.changed_positions(layout.last_touch, step_of):
        index = step_of[position]
        now = {b for b in steps[index].free if b not in lives.changed}
        now |= lives.freed.get(index, set())
        free = tuple(b for b in layout.touches[position] if b in now)
        own = layout.steps[position]
        steps[index] = Step(own.op, own.into, free)
    return steps


def _memory(
    layout: Layout,
    replays: list[_Replay],
    residences: tuple[Residence, ...],
    step_of: list[int],
    lives: Lives,
    size_of: list[int],
) -> Int64:
    own = np.array(step_of, dtype=np.int64)
    length = len(step_of) + sum(len(replay.steps) for replay in replays)
    allocated = np.zeros(length + 1, dtype=np.int64)
    allocated[own] += layout.allocated_bytes
    for index, buffer in lives.allocated:
        allocated[index] += size_of[buffer]
    change = allocated.copy()
    change[own + 1] -= layout.freed_bytes
    change[0] += sum(size_of[s] for s in layout.batch)
    for buffer in lives.changed:
        if buffer in layout.last_touch:
            change[step_of[layout.last_touch[buffer]] + 1] += size_of[buffer]
    for index, buffers in lives.freed.items():
        change[index + 1] -= sum(size_of[b] for b in buffers)
    arriving = np.zeros(length + 1, dtype=np.int64)  # compressed bytes of what comes back
    for r in residences:
        change[r.release_after + 1] -= size_of[r.storage] - r.resident_bytes
        change[r.needed_by] += size_of[r.storage] - r.resident_bytes
        arriving[r.needed_by] += r.resident_bytes
    memory = np.cumsum(change)
    memory += np.maximum(arriving - allocated, 0)
    return memory[:-1]

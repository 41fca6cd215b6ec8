"""From actions to an explicit program: replays inserted, buffers assigned, frees placed.

Semantics of the paper's planner: a dropped tensor is replayed right before its first use in
backward and stays until its last; whatever else the replay recomputed is freed as soon as the
replay no longer reads it, and recomputed again where it is needed again (III-C: its cost "is
charged again for every dropped tensor whose replay needs t").
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planezip.planning.problem import Problem
from planezip.planning.replay import replay_positions
from planezip.records import Action, Step


@dataclass(frozen=True, slots=True)
class Residence:
    """When a swapped storage is away, in step indices (see records.Swap)."""

    storage: int
    out_after: int
    release_after: int
    needed_by: int


@dataclass(frozen=True, slots=True)
class Program:
    """The steps of a plan before its prefetches are placed.

    Attributes:
        memory: activation bytes during every step, int64, with each swapped storage counted
            until `release_after` and again from `needed_by`.
    """

    steps: tuple[Step, ...]
    residences: tuple[Residence, ...]
    scratch: tuple[int, ...]
    memory: np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(slots=True)
class _Draft:
    """A step under construction: `touches` are the buffers it reads or writes."""

    op: int
    into: tuple[int, ...]
    touches: tuple[int, ...]
    allocates: tuple[int, ...]
    replay_for: int


class _Compiler:
    def __init__(self, problem: Problem, actions: Mapping[int, Action]) -> None:
        self.problem = problem
        self.actions = actions
        self.drafts: list[_Draft] = []
        self.scratch: list[int] = []
        self._scratch_of: dict[int, int] = {}
        self.resident: set[int] = {
            s.id for s in problem.trace.storages if s.kind == "input" and problem.uses[s.id]
        }
        self.step_of_position: list[int] = []

    def run(self) -> None:
        problem = self.problem
        dropped = {t for t, action in self.actions.items() if action == "drop"}
        leaves: dict[int, list[int]] = {}
        for t in dropped:
            candidate = problem.candidates[t]
            leaves.setdefault(candidate.last_forward_use, []).append(t)
            leaves.setdefault(candidate.last_backward_use, []).append(t)
        for position in range(len(problem.ops)):
            if position >= problem.backward_start:
                needed = [
                    s for s, _ in problem.reads[position] if s in dropped and s not in self.resident
                ]
                if needed:
                    self._replay(needed)
            self._own_step(position)
            self.resident.difference_update(leaves.get(position, ()))

    def _own_step(self, position: int) -> None:
        problem = self.problem
        op = problem.ops[position]
        allocates = tuple(s for s in problem.writes[position] if s not in self.resident)
        self.resident.update(allocates)
        touches = (*(s for s, _ in problem.reads[position]), *problem.writes[position])
        self.step_of_position.append(len(self.drafts))
        self.drafts.append(_Draft(op.index, op.writes, touches, allocates, -1))

    def _replay(self, targets: list[int]) -> None:
        """Emit one replay that leaves `targets` resident in their own buffers."""
        problem = self.problem
        positions, _ = replay_positions(
            problem, [(t, problem.forward_version[t]) for t in targets], self._is_resident
        )
        holder: dict[int, int] = {}  # storage -> buffer of the version that this replay made
        for position in positions:
            op = problem.ops[position]
            touches = [
                s if self._is_resident(s, version) else holder.get(s, s)
                for s, version in problem.reads[position]
            ]
            allocates = []
            for s in problem.writes[position]:
                if s not in holder:
                    holder[s] = self._buffer_for(s)
                    allocates.append(holder[s])
            into = tuple(holder.get(s, s) for s in op.writes)
            touches += [holder[s] for s in problem.writes[position]]
            self.drafts.append(
                _Draft(op.index, into, tuple(touches), tuple(allocates), targets[-1])
            )
        self.resident.update(targets)

    def _is_resident(self, storage: int, version: int) -> bool:
        """Whether the storage's own buffer holds this version during backward."""
        if version != self.problem.forward_version[storage]:
            return False
        action = self.actions.get(storage)
        if action is None:
            return version == 0  # a batch that backward does not read is still there
        return action != "drop" or storage in self.resident

    def _buffer_for(self, storage: int) -> int:
        """The storage's own buffer if a replay may use it, else a scratch buffer."""
        action = self.actions.get(storage)
        if action == "drop" and storage not in self.resident:
            return storage
        if action is None and self.problem.uses[storage][-1] < self.problem.backward_start:
            return storage
        if storage not in self._scratch_of:
            self._scratch_of[storage] = len(self.problem.trace.storages) + len(self.scratch)
            self.scratch.append(storage)
        return self._scratch_of[storage]


def compile_program(problem: Problem, actions: Mapping[int, Action]) -> Program:
    """Lay out what `actions` (saved storage -> action; every candidate has one) means."""
    compiler = _Compiler(problem, actions)
    compiler.run()
    size_of = [*problem.bytes, *(problem.bytes[s] for s in compiler.scratch)]
    frees, first_use_after = _place_frees(compiler, problem, actions)
    residences = []
    for t, action in actions.items():
        if action == "swap":
            candidate = problem.candidates[t]
            residences.append(
                Residence(
                    t,
                    _step(compiler, candidate.ready),
                    _step(compiler, candidate.last_forward_use),
                    first_use_after[t],
                )
            )
    steps = tuple(
        Step(draft.op, draft.into, tuple(free), draft.replay_for)
        for draft, free in zip(compiler.drafts, frees, strict=True)
    )
    memory = _memory(compiler, frees, residences, size_of)
    return Program(steps, tuple(residences), tuple(compiler.scratch), memory)


def _step(compiler: _Compiler, position: int) -> int:
    return compiler.step_of_position[position] if position >= 0 else -1


def _place_frees(
    compiler: _Compiler, problem: Problem, actions: Mapping[int, Action]
) -> tuple[list[list[int]], dict[int, int]]:
    """Free every buffer after its last touch; also the first backward touch of swapped ones."""
    backward = compiler.step_of_position[problem.backward_start :]
    backward_step = backward[0] if backward else len(compiler.drafts)
    frees: list[list[int]] = [[] for _ in compiler.drafts]
    needed_by: dict[int, int] = {}
    alive: set[int] = set()
    for index in range(len(compiler.drafts) - 1, -1, -1):
        draft = compiler.drafts[index]
        for buffer in dict.fromkeys(draft.touches):
            if buffer not in alive and (
                buffer >= len(problem.budgeted) or problem.budgeted[buffer]
            ):
                alive.add(buffer)
                frees[index].append(buffer)
            if actions.get(buffer) == "swap" and index >= backward_step:
                needed_by[buffer] = index
        alive.difference_update(draft.allocates)
    return frees, needed_by


def _memory(
    compiler: _Compiler,
    frees: list[list[int]],
    residences: list[Residence],
    size_of: list[int],
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    change = np.zeros(len(compiler.drafts) + 1, dtype=np.int64)
    for s in compiler.problem.trace.storages:
        if s.kind == "input" and compiler.problem.uses[s.id]:
            change[0] += size_of[s.id]
    for index, draft in enumerate(compiler.drafts):
        change[index] += sum(size_of[b] for b in draft.allocates)
        change[index + 1] -= sum(size_of[b] for b in frees[index])
    for r in residences:
        change[r.release_after + 1] -= size_of[r.storage]
        change[r.needed_by] += size_of[r.storage]
    return np.cumsum(change)[:-1]

"""Eviction while an iteration runs, for operator sequences without a plan (paper V-F, Eq. 1).

Nothing is known but what has run: an operator that is about to run, what the framework frees when
its last reference is gone, and which activations autograd has saved. Whenever an allocation does
not fit, the tensor with the smallest score leaves (`EvictionScores`); whatever is needed again is
copied back or replayed at that moment.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isinf

from planezip.planning.eviction_scores import EvictionScores
from planezip.planning.layout import Layout
from planezip.planning.machine import Machine
from planezip.planning.problem import Problem
from planezip.planning.replay import replay_positions
from planezip.planning.whereabouts import Whereabouts
from planezip.records import Step


def run_online(
    problem: Problem,
    layout: Layout,
    machine: Machine,
    ratios: Mapping[int, float] | None,
) -> None:
    """Run one iteration on the machine.

    Args:
        ratios: saved storage -> predicted compression ratio; left-out ones count as 1. None: never
            swap, which is recomputation alone (DTR's heuristic).

    Raises:
        PlanOverflowError: something does not fit the machine's memory and nothing can leave.
    """
    _Iteration(problem, layout, machine, ratios).run()


@dataclass(frozen=True, slots=True)
class _ReplayStep:
    """A step of a replay: `makes` are the buffers that it writes, `touches` all that it uses."""

    position: int
    into: tuple[int, ...]
    makes: tuple[int, ...]
    touches: tuple[int, ...]


class _Iteration:
    def __init__(
        self,
        problem: Problem,
        layout: Layout,
        machine: Machine,
        ratios: Mapping[int, float] | None,
    ) -> None:
        self.problem, self.layout, self.machine = problem, layout, machine
        self.where = Whereabouts(problem)
        self.scores = EvictionScores(problem, self.where, ratios)
        self.pins: Counter[int] = Counter()

    def run(self) -> None:
        batch = self.layout.batch
        self.machine.take(batch)
        for s in batch:
            self.where.arrive(s, self.machine.now_s)
        for position in range(len(self.problem.ops)):
            with self._pinned(self.layout.touches[position]):
                self._run_operator(position)

    def _run_operator(self, position: int) -> None:
        problem, where, touched = self.problem, self.where, self.layout.touches[position]
        dead = tuple(s for s in touched if self.layout.last_touch[s] == position)
        needed = [s for s, _ in problem.reads[position]]
        with self._pinned(lost := self._lost({*problem.writes[position], *dead})):
            self._bring(dict.fromkeys([*needed, *lost]))
            self._take([s for s in problem.writes[position] if s not in where.resident])
            op = problem.ops[position]
            self.machine.run(Step(op.index, op.writes, dead))
        for s in problem.writes[position]:
            where.rewrite(s)
        for s in touched:
            where.arrive(s, self.machine.now_s)
        for s in dead:
            where.forget(s)
        where.lose(())

    def _lost(self, going: Collection[int]) -> list[int]:
        """Dropped tensors that nothing rebuilds once `going` is overwritten or freed."""
        affected = self.scores.dropped_that_need(going)
        self.where.lose(going)
        return sorted(t for t in affected if isinf(self.scores.replay_s(t)))

    def _bring(self, storages: Iterable[int]) -> None:
        """Bring back those of the storages that are away."""
        storages = list(storages)
        self._fetch(storages)
        if dropped := [s for s in storages if s in self.where.dropped]:
            self._replay(dropped)

    def _fetch(self, storages: Iterable[int]) -> None:
        for s in storages:
            if s in self.where.on_host and s not in self.where.resident:
                self._make_room([s])
                self.machine.fetch(s)
                self.where.arrive(s, self.machine.now_s)

    def _replay(self, targets: list[int]) -> None:
        """Recompute dropped tensors, and with them whatever else is needed and in use."""
        where, version = self.where, self.where.version
        positions, _ = replay_positions(
            self.problem, [(t, version[t]) for t in targets], where.available
        )
        steps = self._lay_out(positions)
        last = {b: index for index, step in enumerate(steps) for b in step.touches}
        rebuilt = {t: self.problem.writers[t][version[t] - 1] for t in where.dropped}
        stays = {t for t, position in rebuilt.items() if position in positions}
        made = set[int]()
        self.pins.update(last.keys())
        for index, step in enumerate(steps):
            self._fetch(step.touches)
            self._take([b for b in step.makes if b not in made])
            made.update(step.makes)
            over = [b for b in step.touches if last[b] == index]
            free = tuple(b for b in over if b in made and b not in stays)
            op = self.problem.ops[step.position]
            self.machine.run(Step(op.index, step.into, free, targets[-1]))
            for b in step.touches:
                if b in where.resident or rebuilt.get(b) == step.position:
                    where.arrive(b, self.machine.now_s)
            self.pins.subtract(over)

    def _lay_out(self, positions: list[int]) -> list[_ReplayStep]:
        """The steps of a replay. What is somewhere in another version gets a scratch buffer."""
        problem, where = self.problem, self.where
        holder: dict[int, int] = {}  # storage -> buffer of the version that this replay made
        steps = []
        for position in positions:
            reads = [
                s if version == where.version[s] and where.holds(s) else holder[s]
                for s, version in problem.reads[position]
            ]
            for s in problem.writes[position]:
                if s not in holder:
                    holder[s] = self.machine.scratch(s) if where.holds(s) else s
            into = tuple(holder.get(s, s) for s in problem.ops[position].writes)
            makes = tuple(holder[s] for s in problem.writes[position])
            steps.append(_ReplayStep(position, into, makes, (*dict.fromkeys((*reads, *makes)),)))
        return steps

    def _take(self, buffers: list[int]) -> None:
        if buffers:
            self._make_room(buffers)
            self.machine.take(buffers)

    def _make_room(self, buffers: list[int]) -> None:
        """Evict until the buffers fit once the copies under way are done, or nothing can leave."""
        machine, where = self.machine, self.where
        while machine.shortage_bytes(buffers) > 0:
            choice = self.scores.cheapest(machine.now_s, self.pins)
            if choice is None:
                return
            t, action = choice
            if action == "drop":
                machine.drop(t)
            elif t in where.on_host:
                machine.release(t)
            else:
                machine.swap_out(t)
            where.leave(t, action)

    @contextmanager
    def _pinned(self, storages: Iterable[int]) -> Iterator[None]:
        """Nothing of these leaves meanwhile."""
        pinned = list(storages)
        self.pins.update(pinned)
        try:
            yield
        finally:
            self.pins.subtract(pinned)

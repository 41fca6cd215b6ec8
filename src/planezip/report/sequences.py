"""Training whose operator sequence changes: iterations of several sequence lengths, one by one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Literal

from planezip.errors import PlanOverflowError
from planezip.planning import (
    CacheReport,
    LearnedRatios,
    PlanCache,
    Planner,
    Problem,
    best_plan,
    borrowed_plan,
    policy,
    run_online,
)
from planezip.records import Departure, Plan, Platform, Timeline, Trace, iteration_seconds
from planezip.simulation import OnlineMachine, Simulator

Ratios = Mapping[int, float]
"""Storage -> compression ratio."""
_Online = tuple[Timeline | None, frozenset[int]]
ITERATIONS = 40
_SEED = 0


def lengths_in_order(lengths: Sequence[int]) -> list[int]:
    """The length of every iteration, drawn at random once and for all.

    The one before the longest first comes after a third of them.
    """
    draw, late = Random(_SEED), sorted(lengths)[-2]
    early = [draw.choice([n for n in lengths if n != late]) for _ in range(ITERATIONS // 3)]
    return [*early, late, *(draw.choice(lengths) for _ in range(ITERATIONS - len(early) - 1))]


@dataclass(frozen=True, slots=True)
class DynamicPolicy:
    """How iterations of changing sequences stay within the budget.

    Attributes:
        plans: the policy that plans, None if every iteration is decided online.
        codec: what compresses transfers.
        swaps: whether online eviction may swap.
        borrows: the plan of the longest sequence, known beforehand, serves all of them.
    """

    plans: str | None
    codec: str | None
    swaps: bool = True
    borrows: bool = False


DYNAMIC_POLICIES = {
    "planned": DynamicPolicy("planezip", "planezip"),
    "planned-bw": DynamicPolicy("bw", None),
    "longest": DynamicPolicy("planezip", "planezip", borrows=True),
    "online": DynamicPolicy(None, "planezip"),
    "online-raw": DynamicPolicy(None, None),
    "online-recompute": DynamicPolicy(None, None, swaps=False),
}


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of a training.

    Attributes:
        tokens: length of its sequences.
        sight: how often the operator sequence has run by then, this time included.
        way: "plan"; "online"; or "overflow", online because the plan did not fit its ratios.
        unlimited_s: duration with unlimited memory.
        timeline: None if nothing made it fit.
        swapped: storages that were copied to the host.
    """

    tokens: int
    sight: int
    way: Literal["plan", "online", "overflow"]
    unlimited_s: float
    timeline: Timeline | None
    swapped: frozenset[int] = frozenset()


class OneLength:
    """What all policies share for one operator sequence on one platform."""

    def __init__(self, trace: Trace, platform: Platform) -> None:
        self.trace, self.platform = trace, platform
        self.simulator = Simulator(trace, platform)
        self.unlimited_s = iteration_seconds(trace, platform)
        self._online: dict[object, _Online] = {}  # what the ratios were -> what came out

    @cached_property
    def planner(self) -> Planner:
        """Lets stay what replays recompute, as online eviction does."""
        return Planner(Problem(self.trace, self.platform), kept=True)

    def plan(self, name: str, budget_bytes: int, ratios: Ratios) -> Plan | None:
        """The plan of a policy, None if it has none."""
        return best_plan(self.planner, policy(name), budget_bytes, ratios, self.simulator.run)

    def borrow(self, other: Plan | None, budget_bytes: int, ratios: Ratios) -> Plan | None:
        """The plan of another sequence for this one, None if it does not fit."""
        if other is None:
            return None
        return borrowed_plan(self.planner, other, budget_bytes, ratios, self.simulator.run)

    def online(self, budget_bytes: int, predicted: Ratios | None, actual: Ratios) -> _Online:
        """One iteration decided as it runs, and what it swapped; None if that does not fit."""
        key = (budget_bytes, predicted and tuple(predicted.items()), tuple(actual.items()))
        if key not in self._online:
            self._online[key] = self._run_online(budget_bytes, predicted, actual)
        return self._online[key]

    def _run_online(self, budget_bytes: int, predicted: Ratios | None, actual: Ratios) -> _Online:
        machine = OnlineMachine(self.simulator, budget_bytes, actual)
        try:
            run_online(self.planner.problem, self.planner.layout, machine, predicted)
        except PlanOverflowError:
            return None, frozenset()
        done = machine.iteration()
        departures = (entry for entry in done.log if isinstance(entry, Departure))
        return done.timeline, frozenset(d.storage for d in departures if d.way == "swap")


class Training:
    """Iterations of changing length under one policy and one budget.

    Ratios are learned as training goes: a sequence's first iteration measures every saved
    activation, later ones measure what they swap (III-B).

    Args:
        lengths: tokens of a sequence -> what runs at that length.
        measured: tokens -> ratios of consecutive iterations, which are taken in turn.
    """

    def __init__(
        self,
        lengths: Mapping[int, OneLength],
        chosen: DynamicPolicy,
        budget_bytes: int,
        measured: Mapping[int, Sequence[Ratios]],
    ) -> None:
        self._lengths, self._policy, self._budget_bytes = lengths, chosen, budget_bytes
        self._measured = measured
        self._longest = max(lengths)
        self._learned = LearnedRatios(lengths[self._longest].platform.precision)
        self._cache = PlanCache()
        self._sights: Counter[int] = Counter()
        if chosen.borrows:
            self._borrow_all()

    @property
    def cache(self) -> CacheReport:
        return self._cache.report

    def run(self) -> list[Iteration]:
        """All iterations, in the order of `lengths_in_order`."""
        order = lengths_in_order(sorted(self._lengths))
        return [self._iteration(number, tokens) for number, tokens in enumerate(order)]

    def _iteration(self, number: int, tokens: int) -> Iteration:
        length, in_turn = self._lengths[tokens], self._measured[tokens]
        actual = in_turn[number % len(in_turn)]
        self._sights[tokens] += 1
        plan = None
        if self._policy.plans:
            plan = self._cache.get(length.trace, length.platform, self._budget_bytes)
        done = self._carry_out(tokens, plan, actual)
        first = self._sights[tokens] == 1
        self._learned.update(
            length.trace, actual if first else {s: actual.get(s, 1.0) for s in done.swapped}
        )
        if first and self._policy.plans and not self._policy.borrows:
            ratios = self._learned.predict(length.trace)
            self._keep(length, length.plan(self._policy.plans, self._budget_bytes, ratios))
        return done

    def _carry_out(self, tokens: int, plan: Plan | None, actual: Ratios) -> Iteration:
        length, head = self._lengths[tokens], (tokens, self._sights[tokens])
        way: Literal["online", "overflow"] = "online"
        if plan is not None:
            try:
                timeline = length.simulator.run(plan, actual)
            except PlanOverflowError:
                way = "overflow"
            else:
                swapped = frozenset(swap.storage for swap in plan.swaps)
                return Iteration(*head, "plan", length.unlimited_s, timeline, swapped)
        predicted = self._learned.predict(length.trace) if self._policy.swaps else None
        found = length.online(self._budget_bytes, predicted, actual)
        return Iteration(*head, way, length.unlimited_s, *found)

    def _borrow_all(self) -> None:
        """Plan for the longest sequence as if it had been seen, and do the same for all others."""
        ratios, name = self._measured[self._longest][0], self._policy.plans or ""
        plan = self._lengths[self._longest].plan(name, self._budget_bytes, ratios)
        for length in self._lengths.values():
            self._keep(length, length.borrow(plan, self._budget_bytes, ratios))

    def _keep(self, length: OneLength, plan: Plan | None) -> None:
        if plan is not None:
            self._cache.put(length.trace, length.platform, plan)

"""The checkers accept right plans and refuse every way in which a plan can be wrong."""

from dataclasses import replace

import pytest

from planezip.errors import PlanCheckError
from planezip.planning import Planner, Problem, check_plan, check_timeline
from planezip.planning.portfolio import Recipe, build_plan
from planezip.records import Event, Step
from planezip.simulation import Simulator
from traces import UNIT, TraceBuilder


@pytest.fixture(scope="module")
def trace():
    """A chain of four saved tensors; tensor 1 is written twice in forward."""
    b = TraceBuilder()
    batch = b.existing("input", 1)
    first = b.op("forward", 30, [batch], new=[10])
    b.op("forward", 30, [first], in_place=[first])
    second = b.op("forward", 30, [first], new=[10])
    third = b.op("forward", 30, [second], new=[10])
    fourth = b.op("forward", 30, [third], new=[10])
    g = b.op("backward", 30, [fourth], new=[1])
    g = b.op("backward", 30, [g, third], new=[1])
    g = b.op("backward", 30, [g, second], new=[1])
    b.op("backward", 30, [g, first], new=[1])
    return b.build()


@pytest.fixture(scope="module")
def plan(trace):
    """Swaps tensor 1, drops tensors 2 and 3, keeps 4."""

    def decide(draft, target_bytes):
        draft.evict(1, "swap")
        draft.evict(2, "drop")
        draft.evict(3, "drop")

    planner, simulator = Planner(Problem(trace, UNIT)), Simulator(trace, UNIT)
    return build_plan(planner, Recipe("hand", decide), 45, {}, simulator.run)


def with_step(plan, index, **changes):
    steps = list(plan.steps)
    steps[index] = replace(steps[index], **changes)
    return replace(plan, steps=tuple(steps))


def without_step(plan, index):
    return replace(plan, steps=plan.steps[:index] + plan.steps[index + 1 :])


def with_swap(plan, **changes):
    return replace(plan, swaps=(replace(plan.swaps[0], **changes),))


def replay_index(plan):
    return next(i for i, step in enumerate(plan.steps) if step.replay_for >= 0)


def test_a_right_plan_is_accepted(trace, plan):
    assert check_plan(trace, UNIT, plan) <= plan.budget_bytes
    check_timeline(trace, UNIT, plan, Simulator(trace, UNIT).run(plan, {}, detail=True))


WRONG_PLANS = {
    "a missing operator": lambda p: without_step(p, 3),
    "a missing replay": lambda p: without_step(p, replay_index(p)),
    "operators out of order": lambda p: replace(p, steps=(p.steps[1], p.steps[0], *p.steps[2:])),
    "a budget below its peak": lambda p: replace(p, budget_bytes=20),
    "a buffer freed too early": lambda p: with_step(p, 0, free=(1,)),
    "a buffer freed twice": lambda p: with_step(p, 1, free=(0,)),
    "a replay into another storage's buffer": lambda p: with_step(p, replay_index(p), into=(4,)),
    "a replay over a live buffer": lambda p: with_step(p, replay_index(p), into=(1,)),
    "a replay of a backward operator": lambda p: with_step(p, replay_index(p), op=6),
    "an output without a buffer": lambda p: with_step(p, replay_index(p), into=()),
    "an own step into a scratch buffer": lambda p: with_step(
        replace(p, scratch=(1,)), 0, into=(9,)
    ),
    "a swap-out before the last write": lambda p: with_swap(p, out_after=0),
    "a swapped tensor that leaves before its last use": lambda p: with_swap(p, release_after=1),
    "a prefetch before the release": lambda p: with_swap(p, prefetch_before=1),
    "a prefetch after the use": lambda p: with_swap(p, prefetch_before=len(p.steps) - 1),
    "a swap that comes too late for a replay": lambda p: with_swap(
        p, needed_by=len(p.steps) - 1, prefetch_before=len(p.steps) - 1
    ),
    "a swap that never comes back": lambda p: with_swap(p, needed_by=len(p.steps)),
    "no swap where one is announced": lambda p: replace(p, swaps=()),
    "an action that the steps do not carry out": lambda p: replace(
        p, actions={**p.actions, 2: "keep"}
    ),
    "no decision about a saved activation": lambda p: replace(
        p, actions={s: a for s, a in p.actions.items() if s != 4}
    ),
    "a deadline that compressed transfers would meet but these do not": lambda p: replace(
        p, ratios={**p.ratios, 1: 0.001}
    ),
}


@pytest.mark.parametrize("wrong", WRONG_PLANS.values(), ids=WRONG_PLANS.keys())
def test_a_wrong_plan_is_refused(trace, plan, wrong):
    platform = UNIT
    if wrong is WRONG_PLANS["a deadline that compressed transfers would meet but these do not"]:
        platform = replace(UNIT, d2h_bytes_per_s=0.05)
    with pytest.raises(PlanCheckError):
        check_plan(trace, platform, wrong(plan))


def test_a_replay_of_a_dropped_input_is_required(trace, plan):
    # Tensor 3's replay reads tensor 2, which is dropped too: without 2's own replay it is wrong.
    index = replay_index(plan)
    assert plan.steps[index].op == 2
    with pytest.raises(PlanCheckError, match="reads version 1 of storage 2"):
        check_plan(trace, UNIT, without_step(plan, index))


def shifted(event: Event, by: float) -> Event:
    return replace(event, start_s=event.start_s + by, end_s=event.end_s + by)


WRONG_TIMELINES = {
    "a missing step": lambda e: e.kind != "op" or e.step != 2,
    "no copy back": lambda e: e.kind != "swap_in",
    "a copy out before the data are final": lambda e: (
        shifted(e, -35) if e.kind == "swap_out" else e
    ),
    "a copy back before the copy out": lambda e: shifted(e, -120) if e.kind == "swap_in" else e,
    "a copy back after the use": lambda e: shifted(e, 300) if e.kind == "swap_in" else e,
    "overlapping operators": lambda e: shifted(e, 15) if e.step == 3 else e,
}


@pytest.mark.parametrize("wrong", WRONG_TIMELINES.values(), ids=WRONG_TIMELINES.keys())
def test_a_wrong_timeline_is_refused(trace, plan, wrong):
    timeline = Simulator(trace, UNIT).run(plan, {}, detail=True)
    events = []
    for event in timeline.events:
        answer = wrong(event)
        if answer is not False:
            events.append(event if answer is True else answer)
    with pytest.raises(PlanCheckError):
        check_timeline(trace, UNIT, plan, replace(timeline, events=tuple(events)))


def test_a_timeline_over_the_budget_or_with_a_false_peak_is_refused(trace, plan):
    timeline = Simulator(trace, UNIT).run(plan, {}, detail=True)
    with pytest.raises(PlanCheckError, match="budget"):
        check_timeline(trace, UNIT, replace(plan, budget_bytes=20), timeline)
    with pytest.raises(PlanCheckError, match="as said"):
        check_timeline(trace, UNIT, plan, replace(timeline, peak_bytes=timeline.peak_bytes - 5))


def test_an_in_place_write_must_find_its_version_in_the_buffer(trace, plan):
    steps = (Step(1, (1,)), *plan.steps)
    with pytest.raises(PlanCheckError):
        check_plan(trace, UNIT, replace(plan, steps=steps))

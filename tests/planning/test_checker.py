"""The checkers accept right plans and refuse every way in which a plan can be wrong."""

from dataclasses import replace

import pytest

from planezip.errors import PlanCheckError
from planezip.planning import Planner, Problem, check_plan, check_timeline
from planezip.planning.portfolio import build_plan
from planezip.planning.recipes import Recipe
from planezip.records import Event, Plan, Step
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
    "a missing operator": (lambda p: without_step(p, 3), "every operator of the trace"),
    "operators out of order": (
        lambda p: replace(p, steps=(p.steps[1], p.steps[0], *p.steps[2:])),
        "every operator of the trace",
    ),
    "a missing replay": (lambda p: without_step(p, replay_index(p)), "reads version"),
    "a budget below its peak": (lambda p: replace(p, budget_bytes=20), "of a budget of 20"),
    "a buffer freed too early": (lambda p: with_step(p, 0, free=(1,)), "reads version"),
    "a buffer freed twice": (lambda p: with_step(p, 1, free=(0,)), "not resident"),
    "a replay into another storage's buffer": (
        lambda p: with_step(p, replay_index(p), into=(4,)),
        "buffer of another storage",
    ),
    "a replay of a backward operator": (
        lambda p: with_step(p, replay_index(p), op=6),
        "not of the forward pass",
    ),
    "an output without a buffer": (
        lambda p: with_step(p, replay_index(p), into=()),
        "names 0 outputs of 1",
    ),
    "an own step into a scratch buffer": (
        lambda p: with_step(replace(p, scratch=(1,)), 0, into=(9,)),
        "its own storages",
    ),
    "a swap-out before the last write": (lambda p: with_swap(p, out_after=0), "last write"),
    "a swapped tensor that leaves before its last use": (
        lambda p: with_swap(p, release_after=1),
        "reads version",
    ),
    "a prefetch before the release": (
        lambda p: with_swap(p, prefetch_before=1),
        "out of order",
    ),
    "a swap that comes too late for a replay": (
        lambda p: with_swap(p, needed_by=len(p.steps) - 1, prefetch_before=len(p.steps) - 1),
        "reads version",
    ),
    "a swap that is needed after the end": (
        lambda p: with_swap(p, needed_by=len(p.steps)),
        "out of order",
    ),
    "two swaps of one storage": (
        lambda p: replace(p, swaps=(*p.swaps, *p.swaps)),
        "not what the actions",
    ),
    "no swap where one is announced": (lambda p: replace(p, swaps=()), "not what the actions"),
    "an action that the steps do not carry out": (
        lambda p: replace(p, actions={**p.actions, 2: "keep"}),
        "replayed but not dropped",
    ),
    "no decision about a saved activation": (
        lambda p: replace(p, actions={s: a for s, a in p.actions.items() if s != 4}),
        "exactly the saved activations",
    ),
}


@pytest.mark.parametrize(("wrong", "rule"), WRONG_PLANS.values(), ids=WRONG_PLANS.keys())
def test_a_wrong_plan_is_refused_for_the_rule_that_it_breaks(trace, plan, wrong, rule):
    with pytest.raises(PlanCheckError, match=rule):
        check_plan(trace, UNIT, wrong(plan))


def test_a_plan_may_use_its_whole_budget_and_not_a_byte_more(trace, plan):
    peak_bytes = check_plan(trace, UNIT, plan)
    assert check_plan(trace, UNIT, replace(plan, budget_bytes=peak_bytes)) == peak_bytes
    with pytest.raises(PlanCheckError, match="of a budget of"):
        check_plan(trace, UNIT, replace(plan, budget_bytes=peak_bytes - 1))


def test_a_prefetch_under_way_takes_memory(trace):
    planner, simulator = Planner(Problem(trace, UNIT)), Simulator(trace, UNIT)
    recipe = Recipe("hand", lambda draft, target_bytes: draft.evict(1, "swap"))
    plan = build_plan(planner, recipe, 100, {}, simulator.run)
    (swap,) = plan.swaps
    early = with_swap(plan, prefetch_before=swap.release_after + 1)
    late = with_swap(plan, prefetch_before=swap.needed_by)
    assert check_plan(trace, UNIT, early) == check_plan(trace, UNIT, late) + 10


def test_both_deadlines_are_checked_where_they_are_promised(trace, plan):
    # Tensor 1 is final at 60 s; forward ends at 150 s; backward first reads it at 240 s.
    slow_out = replace(UNIT, d2h_bytes_per_s=0.1)
    slow_in = replace(UNIT, h2d_bytes_per_s=0.1)
    for platform, direction in ((slow_out, "swap-out"), (slow_in, "swap-in")):
        with pytest.raises(PlanCheckError, match=direction):
            check_plan(trace, platform, plan)
        check_plan(trace, platform, replace(plan, meets_deadlines=False))
        compressed = replace(plan, ratios={**plan.ratios, 1: 10.0})
        check_plan(trace, platform, compressed)


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


def overwritten_trace():
    """Tensor 1 is cloned, then overwritten in place; backward reads it and the clone 2."""
    b = TraceBuilder()
    batch = b.existing("input", 1)
    a = b.op("forward", 1, [batch], new=[10])
    clone = b.op("forward", 1, [a], new=[10])
    b.op("forward", 1, [], in_place=[a])
    g = b.op("backward", 1, [clone], new=[1])
    b.op("backward", 1, [g, a, batch], new=[1])
    return b.build()


def overwritten_plan(*replay):
    """Drops the clone; `replay` rebuilds it. Buffer 5 is scratch for tensor 1."""
    steps = (
        Step(0, (1,)),
        Step(1, (2,), (2,)),
        Step(2, (1,)),
        *replay,
        Step(3, (3,), (2,)),
        Step(4, (4,), (0, 1, 3, 4)),
    )
    actions = {0: "keep", 1: "keep", 2: "drop"}
    ratios = dict.fromkeys(actions, 1.0)
    return Plan("toy", "unit", "", "", 100, False, actions, ratios, steps, (), (1,))


def test_a_replay_must_not_wipe_out_the_version_that_backward_reads():
    trace = overwritten_trace()
    into_scratch = (Step(0, (5,), (), 2), Step(1, (2,), (5,), 2))
    check_plan(trace, UNIT, overwritten_plan(*into_scratch))
    over_the_kept = (Step(0, (1,), (), 2), Step(1, (2,), (), 2))
    with pytest.raises(PlanCheckError, match="reads version 2 of storage 1"):
        check_plan(trace, UNIT, overwritten_plan(*over_the_kept))


def test_an_update_in_place_must_find_its_version_in_its_buffer():
    # The replayed update could read version 1 in buffer 5, but writes to buffer 1, which holds
    # version 2, or to buffer 6, which holds nothing.
    for buffer in (1, 6):
        replay = (Step(0, (5,), (), 2), Step(1, (2,), (), 2), Step(2, (buffer,), (5,), 2))
        plan = replace(overwritten_plan(*replay), scratch=(1, 1))
        with pytest.raises(PlanCheckError, match="in place"):
            check_plan(overwritten_trace(), UNIT, plan)


@pytest.fixture(scope="module")
def keeping(trace):
    """The same plan, but what the replay of tensor 3 recomputes of tensor 2 stays."""

    def decide(draft, target_bytes):
        draft.evict(1, "swap")
        draft.evict(2, "drop")
        draft.evict(3, "drop")

    planner, simulator = Planner(Problem(trace, UNIT), kept=True), Simulator(trace, UNIT)
    return build_plan(planner, Recipe("hand", decide), 55, {}, simulator.run)


def test_what_stays_after_a_replay_is_replayed_once(trace, plan, keeping):
    assert keeping.stays == (2, 3)
    assert check_plan(trace, UNIT, keeping) <= keeping.budget_bytes
    assert len(keeping.steps) == len(plan.steps) - 1


def test_a_plan_must_say_what_stays_after_a_replay(trace, plan, keeping):
    with pytest.raises(PlanCheckError, match="which the plan does not say"):
        check_plan(trace, UNIT, replace(keeping, stays=()))
    with pytest.raises(PlanCheckError, match="replayed 2 times before its first use"):
        check_plan(trace, UNIT, replace(plan, stays=(2, 3)))
    with pytest.raises(PlanCheckError, match=r"\[4\] stay after replays but are not dropped"):
        check_plan(trace, UNIT, replace(keeping, stays=(2, 3, 4)))

"""The checker refuses what the trace forbids, what a plan hides, and what would beat the bound."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planezip.errors import PlanCheckError, PlanOverflowError
from planezip.planning import Planner, Problem, best_plan, check_plan, lower_bound_s, policy
from planezip.planning.portfolio import build_plan
from planezip.planning.recipes import Recipe
from planezip.records import Plan, Step, Swap
from planezip.simulation import Simulator
from traces import UNIT, TraceBuilder, chain_trace, traces

CLOSE = 1e-6


def hand_made(trace, budget, steps, swaps=(), **actions):
    """A plan whose storages that are not named (as s1="drop") are kept."""
    said = dict.fromkeys(trace.saved, "keep") | {int(s[1:]): a for s, a in actions.items()}
    ratios = dict.fromkeys(trace.saved, 1.0)
    return Plan("toy", "unit", "", "", budget, False, said, ratios, tuple(steps), tuple(swaps))


def made_by(trace, name):
    problem, simulator = Problem(trace, UNIT), Simulator(trace, UNIT)
    budget = problem.peak_bytes * 6 // 10
    return best_plan(Planner(problem), policy(name), budget, {}, simulator.run)


@pytest.fixture(scope="module")
def chain():
    return chain_trace([10] * 8, 3, 3)


@pytest.fixture(scope="module")
def expensive():
    """Storage 1 costs 1000 s and is of one byte; a replay of the large 2 reads it.

    Built with an operator that overwrites 1 in backward, or without.
    """

    def build(overwritten):
        b = TraceBuilder()
        t = b.op("forward", 1000, [b.existing("input", 1)], new=[1])
        large = b.op("forward", 1, [t], new=[1000])
        d = b.op("forward", 1, [b.op("forward", 1, [large], new=[1000])], new=[1000])
        g = b.op("backward", 1, [b.op("backward", 1, [d], new=[1])], new=[1])
        g = b.op("backward", 1, [g, large], new=[1])
        if overwritten:
            b.op("backward", 1, [g], in_place=[t])
        return b.build()

    return build


def expensive_plan(trace, overwritten):
    """Drops the large storage 2 and keeps what its replay reads, to 2,010 bytes."""
    spared, last = ((), (Step(7, (1,), (1, 7)),)) if overwritten else ((1,), ())
    steps = (
        Step(0, (1,)),
        Step(1, (2,)),
        Step(2, (3,), (2,)),
        Step(3, (4,), (3,)),
        Step(4, (5,), (4,)),
        Step(5, (6,), (5,)),
        Step(1, (2,), spared, 2),
        Step(6, (7,), (2, 6)),
        *last,
    )
    return hand_made(trace, 2010, steps, s2="drop")


def test_a_temporary_that_was_not_saved_is_not_kept_for_a_replay(expensive):
    trace = expensive(False)
    plan = expensive_plan(trace, False)
    assert Simulator(trace, UNIT).run(plan, {}).duration_s < lower_bound_s(
        Problem(trace, UNIT), plan.budget_bytes, {}
    )
    with pytest.raises(PlanCheckError, match="storage 1 has had its last use but is not freed"):
        check_plan(trace, UNIT, plan)


def test_the_bound_lets_a_replay_read_what_backward_overwrites_later(expensive):
    trace = expensive(True)
    problem, plan = Problem(trace, UNIT), expensive_plan(trace, True)
    assert 1 in trace.saved
    assert 1 not in problem.candidates
    check_plan(trace, UNIT, plan)
    duration_s = Simulator(trace, UNIT).run(plan, {}).duration_s
    assert lower_bound_s(problem, plan.budget_bytes, {}) <= duration_s + CLOSE


@pytest.fixture(scope="module")
def branched():
    """Storage 1 is used again in forward, after the large 2."""
    b = TraceBuilder()
    x = b.existing("input", 1)
    a = b.op("forward", 1000, [x], new=[1000])
    d = b.op("forward", 1000, [b.op("forward", 1000, [x], new=[1000])], new=[1])
    g = b.op("backward", 1, [b.op("forward", 1, [a, d], new=[1])], new=[1])
    b.op("backward", 1, [g, a], new=[1])
    return b.build()


def test_nothing_leaves_between_two_uses_in_forward(branched):
    own = [Step(0, (1,)), Step(1, (2,)), Step(2, (3,), (2,)), Step(3, (4,)), Step(4, (5,))]
    own.append(Step(5, (6,)))
    swap = Swap(1, 0, 0, 3, 3)
    with pytest.raises(PlanCheckError, match="swapped out before its last use in forward"):
        check_plan(branched, UNIT, hand_made(branched, 1010, own, [swap], s1="swap"))
    steps = [replace(own[0], free=(1,)), *own[1:3], Step(0, (1,), (), 1), *own[3:]]
    plan = replace(hand_made(branched, 1010, steps, s1="drop"), stays=(1,))
    with pytest.raises(PlanCheckError, match="frees storage 1, which does not leave then"):
        check_plan(branched, UNIT, plan)


def test_what_backward_overwrites_is_not_evicted(expensive):
    trace = expensive(True)
    plan = expensive_plan(trace, True)
    with pytest.raises(PlanCheckError, match="storage 1 is evicted, although backward overwrites"):
        check_plan(trace, UNIT, replace(plan, actions={**plan.actions, 1: "drop"}))


def test_replays_come_after_forward(chain):
    plan = made_by(chain, "recomp")
    replays = [step for step in plan.steps if step.replay_for >= 0]
    early = replace(replays[0], free=replays[0].into)
    steps = (*plan.steps[:6], early, *plan.steps[6:])
    with pytest.raises(PlanCheckError, match="before the end of the forward pass"):
        check_plan(chain, UNIT, replace(plan, steps=steps, budget_bytes=1000))


def test_a_replay_leaves_alone_what_is_not_away(chain):
    planner, simulator = Planner(Problem(chain, UNIT)), Simulator(chain, UNIT)
    recipe = Recipe("hand", lambda draft, target_bytes: draft.evict(3, "drop"))
    plan = build_plan(planner, recipe, 1000, {}, simulator.run)
    index = next(i for i, step in enumerate(plan.steps) if step.replay_for >= 0)
    again = Step(1, (2,), (), 3)  # makes the kept storage 2 from the kept storage 1
    steps = (*plan.steps[:index], again, *plan.steps[index:])
    check_plan(chain, UNIT, plan)
    with pytest.raises(PlanCheckError, match="a replay into storage 2, which is not away"):
        check_plan(chain, UNIT, replace(plan, steps=steps))


def test_an_operator_that_is_not_repeatable_is_not_replayed(chain):
    plan = made_by(chain, "recomp")
    once = replace(chain, ops=tuple(replace(op, repeatable=False) for op in chain.ops))
    check_plan(chain, UNIT, plan)
    with pytest.raises(PlanCheckError, match="not repeatable"):
        check_plan(once, UNIT, plan)


@pytest.mark.parametrize("name", ["recomp", "swap"])
def test_what_the_trace_says_cannot_leave_does_not(chain, name):
    plan = made_by(chain, name)
    held = replace(chain, storages=tuple(replace(s, evictable=False) for s in chain.storages))
    check_plan(chain, UNIT, plan)
    with pytest.raises(PlanCheckError, match="which the trace says it cannot be"):
        check_plan(held, UNIT, plan)


@pytest.mark.parametrize("stays", [False, True])
def test_what_is_said_to_be_dropped_is_dropped(chain, stays):
    plan = made_by(chain, "recomp")
    kept = next(s for s, action in plan.actions.items() if action == "keep" and s > 0)
    said = replace(plan, actions={**plan.actions, kept: "drop"}, stays=(kept,) if stays else ())
    rule = f"storage {kept} is dropped but is not freed" if stays else "does not say"
    with pytest.raises(PlanCheckError, match=rule):
        check_plan(chain, UNIT, said)


def test_what_is_swapped_is_back_for_its_first_use_in_backward():
    """A replay of it in another buffer would serve that use, so that no value is missing."""
    b = TraceBuilder()
    a = b.op("forward", 1, [b.existing("input", 1)], new=[10])
    c = b.op("forward", 1, [b.op("forward", 1, [a], new=[10])], new=[10])
    g = b.op("backward", 1, [b.op("backward", 1, [c], new=[1]), 2], new=[1])
    g = b.op("backward", 1, [g, a], new=[1])
    b.op("backward", 1, [g, a], new=[1])
    trace = b.build()
    steps = (
        Step(0, (1,)),
        Step(1, (2,)),
        Step(2, (3,), (2,)),
        Step(3, (4,), (3,)),
        Step(0, (8,), (), 2),
        Step(1, (2,), (0,), 2),
        Step(4, (5,), (2, 4)),
        Step(5, (6,), (8, 5)),
        Step(6, (7,), (1, 6, 7)),
    )
    for needed_by, refused in ((7, False), (8, True)):
        swap = Swap(1, 0, 1, 7, needed_by)
        plan = hand_made(trace, 100, steps, [swap], s1="swap", s2="drop")
        plan = replace(plan, scratch=(1,))
        if refused:
            with pytest.raises(PlanCheckError, match="swapped in after its first use in backward"):
                check_plan(trace, UNIT, plan)
        else:
            check_plan(trace, UNIT, plan)


def changed(plan, storages, random):
    """The plan with something else somewhere, mostly wrong."""
    steps, swaps = list(plan.steps), list(plan.swaps)
    i = random.randrange(len(steps))
    match random.randrange(6):
        case 0:
            steps[i] = replace(steps[i], free=())
        case 1:
            steps[i] = replace(steps[i], free=(*steps[i].free, random.randrange(storages)))
        case 2:
            steps.insert(i, random.choice(steps))
        case 3 if swaps:
            j = random.randrange(len(swaps))
            field = random.choice(["out_after", "release_after", "prefetch_before", "needed_by"])
            at = getattr(swaps[j], field) + random.randint(-6, 6)
            swaps[j] = replace(swaps[j], **{field: at})
        case 4:
            stays = set(plan.stays) ^ {random.choice(list(plan.actions))}
            return replace(plan, stays=tuple(stays))
        case _:
            del steps[i]
    return replace(plan, steps=tuple(steps), swaps=tuple(swaps))


@settings(max_examples=60, deadline=None)
@given(
    traces(), st.integers(40, 95), st.sampled_from(["recomp", "planezip"]), st.integers(0, 2**32)
)
def test_no_changed_plan_that_is_accepted_beats_the_bound(trace, percent, name, seed):
    problem, simulator, random = Problem(trace, UNIT), Simulator(trace, UNIT), Random(seed)
    budget, ratios = problem.peak_bytes * percent // 100, dict.fromkeys(trace.saved, 2.0)
    plan = best_plan(Planner(problem, True), policy(name), budget, ratios, simulator.run)
    if plan is None or not plan.actions:
        return
    bound_s = lower_bound_s(problem, budget, plan.ratios)
    for _ in range(30):
        other = changed(plan, len(trace.storages), random)
        try:
            check_plan(trace, UNIT, other)
            duration_s = simulator.run(other, plan.ratios).duration_s
        except (PlanCheckError, PlanOverflowError):
            continue
        assert bound_s <= duration_s * (1 + CLOSE) + CLOSE
        plan = other

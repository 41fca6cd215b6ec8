"""Plans that compress in place are proved like all others, never slower, and bounded by a pool."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planezip.errors import InputError, PlanCheckError, PlanOverflowError
from planezip.planning import (
    HostPool,
    Planner,
    Problem,
    best_plan,
    borrowed_plan,
    check_plan,
    check_timeline,
    make_plan,
    policy,
)
from planezip.planning.algorithm1 import CopyQueues, Link, cover_deficit, fill_engines, fill_link
from planezip.planning.in_place import in_place_recipes
from planezip.planning.portfolio import build_plan
from planezip.planning.recipes import Recipe
from planezip.records import Plan, from_json, to_json
from planezip.simulation import Simulator
from traces import UNIT, chain_trace, traces

SLOW_LINK = replace(UNIT, d2h_bytes_per_s=0.2, h2d_bytes_per_s=0.2, engine_bytes_per_s=5.0)
RATIOS = st.sampled_from([1.0, 1.5, 4.0])
NAMES = st.sampled_from(["planezip", "bw", "dte", "recomp", "swap", "bw+zvc"])


def planned(problem, name, percent, ratios, **choices):
    budget = problem.peak_bytes * percent // 100
    simulator = Simulator(problem.trace, problem.platform)
    return best_plan(Planner(problem, **choices), policy(name), budget, ratios, simulator.run)


@settings(max_examples=150, deadline=None)
@given(traces(), NAMES, st.integers(20, 100), RATIOS, st.booleans(), st.booleans())
def test_every_plan_is_proved_and_stays_within_its_budget(
    trace, name, percent, ratio, kept, slow_link
):
    on = SLOW_LINK if slow_link else UNIT
    problem, simulator = Problem(trace, on), Simulator(trace, on)
    ratios = {s: ratio + s % 3 for s in trace.saved}
    plan = planned(problem, name, percent, ratios, kept=kept, in_place=True)
    plain = planned(problem, name, percent, ratios, kept=kept)
    if plan is None:
        assert plain is None
        return
    assert plain is None or plan.predicted_s <= plain.predicted_s
    assert check_plan(trace, on, plan) <= plan.budget_bytes
    timeline = simulator.run(plan, plan.ratios, detail=True)
    check_timeline(trace, on, plan, timeline)
    assert timeline.duration_s == plan.predicted_s
    assert simulator.run(plan, plan.ratios) == replace(timeline, events=(), memory=())
    assert from_json(to_json(plan), Plan, "plan") == plan


@settings(max_examples=100, deadline=None)
@given(traces(), st.integers(20, 95), RATIOS, st.booleans())
def test_every_recipe_keeps_what_it_promises(trace, percent, ratio, kept):
    problem, simulator = Problem(trace, SLOW_LINK), Simulator(trace, SLOW_LINK)
    planner = Planner(problem, kept, in_place=True)
    ratios = {s: ratio + s % 3 for s in trace.saved}
    budget = problem.peak_bytes * percent // 100
    for recipe in in_place_recipes(planner, ratios):
        plan = build_plan(planner, recipe, budget, ratios, simulator.run)
        if plan:
            assert check_plan(trace, SLOW_LINK, plan) <= budget
            # With other ratios it may stall or not fit, but holds its budget.
            others = {s: 1.0 + 2 * (s % 2) for s in trace.saved}
            try:
                timeline = simulator.run(plan, others, detail=True)
            except PlanOverflowError:
                continue
            check_timeline(trace, SLOW_LINK, plan, timeline, others)


def test_what_is_expensive_to_recompute_is_compressed_where_the_link_is_slow():
    problem = Problem(chain_trace([10] * 8, 3, 3), SLOW_LINK)
    ratios = dict.fromkeys(problem.trace.saved, 4.0)
    plan = planned(problem, "planezip", 50, ratios, in_place=True)
    without = planned(problem, "planezip", 50, ratios)
    assert "compress" in plan.actions.values()
    assert plan.predicted_s < without.predicted_s
    assert {w.storage for w in plan.swaps if w.in_place} == {
        s for s, action in plan.actions.items() if action == "compress"
    }


def test_what_does_not_shrink_is_never_compressed():
    problem = Problem(chain_trace([10] * 8, 30, 30), SLOW_LINK)
    planner = Planner(problem, in_place=True)
    assert list(in_place_recipes(planner, {})) == []
    assert list(in_place_recipes(planner, dict.fromkeys(problem.trace.saved, 0.9))) == []
    assert list(in_place_recipes(planner, dict.fromkeys(problem.trace.saved, 1.05))) == []


def test_compressing_that_stalls_beats_recomputing_that_takes_longer():
    # Nothing can be hidden behind operators of next to no time but one whose replay takes long.
    problem = Problem(
        chain_trace([100] * 3, [100, 1, 1], 1), replace(UNIT, engine_bytes_per_s=10.0)
    )
    ratios = dict.fromkeys(problem.trace.saved, 5.0)
    draft = Planner(problem, in_place=True).draft(ratios)
    cover_deficit(draft, 230, compress_cost_s=lambda c: 10.0)
    assert draft.actions == {1: "compress", 2: "drop", 3: "keep"}  # a second's replay is cheaper
    plan = planned(problem, "planezip", 77, ratios, in_place=True)
    assert plan.actions[1] == "compress"
    assert Simulator(problem.trace, problem.platform).run(plan, ratios).stall_s > 0


def test_what_is_compressed_is_dropped_after_all_if_memory_is_still_short():
    problem = Problem(chain_trace([10] * 8, 3, 3), UNIT)
    draft = Planner(problem, in_place=True).draft(dict.fromkeys(problem.trace.saved, 2.0))
    for t in problem.candidates:
        if draft.may_compress(t):
            draft.evict(t, "compress")
    before = draft.peak_bytes
    cover_deficit(draft, before - 12)
    assert draft.peak_bytes <= before - 12
    assert {"drop", "compress"} <= set(draft.actions.values())


def test_the_engines_are_filled_until_memory_fits_or_a_deadline_would_be_missed():
    problem = Problem(chain_trace([10] * 8, 3, 3), replace(UNIT, engine_bytes_per_s=1.0))
    planner = Planner(problem, in_place=True)
    ratios = dict.fromkeys(problem.trace.saved, 2.0)
    compress_s = {t: planner.compress_s(t) for t in problem.candidates}
    draft = planner.draft(ratios)
    fill_engines(draft, problem.candidates, compress_s, 0, CopyQueues(problem, mixed=True))
    hidden = [t for t, action in draft.actions.items() if action == "compress"]
    assert hidden == [1]  # 10 s each: forward is over at 24 s, and 2 is first read at 39 s
    draft = planner.draft(ratios)
    fill_engines(draft, problem.candidates, compress_s, draft.peak_bytes, CopyQueues(problem, True))
    assert "compress" not in draft.actions.values()


@settings(max_examples=80, deadline=None)
@given(traces(), NAMES, st.integers(20, 95), st.integers(0, 60), st.booleans())
def test_no_plan_swaps_more_than_the_pool_holds(trace, name, percent, capacity, in_place):
    problem = Problem(trace, UNIT)
    ratios = {s: 1.5 + s % 3 for s in trace.saved}
    pool = HostPool(capacity, {t: c.bytes for t, c in problem.candidates.items()})
    plan = planned(problem, name, percent, ratios, in_place=in_place, pool=pool)
    if plan:
        assert sum(problem.bytes[w.storage] for w in plan.swaps if not w.in_place) <= capacity
        assert check_plan(trace, UNIT, plan) <= plan.budget_bytes


def test_a_full_pool_makes_the_plan_compress_or_recompute_instead():
    problem = Problem(chain_trace([10] * 8, 3, 3), UNIT)
    ratios, bytes_of = (
        dict.fromkeys(problem.trace.saved, 2.0),
        dict.fromkeys(problem.candidates, 10),
    )
    unlimited = planned(problem, "planezip", 50, ratios)
    assert list(unlimited.actions.values()).count("swap") > 1
    one = planned(problem, "planezip", 50, ratios, pool=HostPool(19, bytes_of))
    assert list(one.actions.values()).count("swap") == 1
    none = planned(problem, "planezip", 50, ratios, pool=HostPool(0, bytes_of))
    assert set(none.actions.values()) == {"keep", "drop"}
    in_place = planned(problem, "planezip", 50, ratios, in_place=True, pool=HostPool(0, bytes_of))
    assert "compress" in in_place.actions.values()


def test_stage_one_passes_over_what_the_host_has_no_room_for():
    problem = Problem(chain_trace([10, 20, 10, 10], 10, 10), UNIT)
    pool = HostPool(25, {t: c.bytes for t, c in problem.candidates.items()})
    draft = Planner(problem, pool=pool).draft()
    fill_link(draft, Link([1, 2, 3], dict.fromkeys(problem.candidates, (1.0, 1.0)), 1e9), 0)
    assert [t for t, action in draft.actions.items() if action == "swap"] == [1, 3]


def test_a_borrowed_plan_compresses_where_that_shrinks_and_swaps_while_the_host_has_room():
    problem = Problem(chain_trace([10] * 8, 3, 3), SLOW_LINK)
    simulator = Simulator(problem.trace, SLOW_LINK)
    ratios = dict.fromkeys(problem.trace.saved, 4.0)
    planner = Planner(problem, in_place=True)
    other = make_plan(planner, policy("planezip"), problem.peak_bytes // 2, ratios, simulator.run)
    peak = problem.peak_bytes
    same = borrowed_plan(planner, other, peak, ratios, simulator.run)
    assert same.actions == other.actions
    raw = borrowed_plan(planner, other, peak, {}, simulator.run)
    assert "compress" not in raw.actions.values()


@pytest.fixture(scope="module")
def compressed():
    """A plan that compresses storage 1, and its trace."""
    trace = chain_trace([10, 10, 10], 30, 30)
    planner, simulator = Planner(Problem(trace, UNIT), in_place=True), Simulator(trace, UNIT)
    recipe = Recipe("hand", lambda draft, target_bytes: draft.evict(1, "compress"))
    plan = build_plan(planner, recipe, 100, dict.fromkeys(trace.saved, 2.0), simulator.run)
    return trace, plan


def with_swap(plan, **changes):
    return replace(plan, swaps=(replace(plan.swaps[0], **changes),))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda p: with_swap(p, in_place=False), "not what the actions say"),
        (lambda p: with_swap(p, out_after=0), "before its last use"),
        (lambda p: replace(p, ratios=p.ratios | {1: 1.0}), "does not shrink"),
        (lambda p: replace(p, ratios=p.ratios | {1: 0.5}), "does not shrink"),
        (lambda p: replace(p, actions=p.actions | {1: "swap"}), "not what the actions say"),
        (lambda p: replace(p, budget_bytes=check_plan(*p_args(p)) - 1), "of a budget of"),
    ],
)
def test_a_plan_that_compresses_wrongly_is_refused(compressed, wrong, said):
    trace, plan = compressed
    check_plan(trace, UNIT, plan)
    with pytest.raises(PlanCheckError, match=said):
        check_plan(trace, UNIT, wrong(plan))


def p_args(plan):
    return chain_trace([10, 10, 10], 30, 30), UNIT, plan


def test_deadlines_of_the_engines_are_checked_where_they_are_promised(compressed):
    trace, plan = compressed
    for rate, said in (("encode_bytes_per_s", "encoding"), ("decode_bytes_per_s", "decoding")):
        slow = replace(UNIT, **{rate: 0.1})
        with pytest.raises(PlanCheckError, match=said):
            check_plan(trace, slow, plan)
        check_plan(trace, slow, replace(plan, meets_deadlines=False))


def test_compressed_bytes_count_until_the_tensor_is_back():
    trace = chain_trace([30, 10, 10], 30, 30)
    planner, simulator = Planner(Problem(trace, UNIT), in_place=True), Simulator(trace, UNIT)
    recipe = Recipe("hand", lambda draft, target_bytes: draft.evict(1, "compress"))
    ratios = dict.fromkeys(trace.saved, 2.0)
    # Before the last step there are 15 bytes and the 30 that they become, beside a gradient.
    plan = build_plan(planner, recipe, 46, ratios, simulator.run)
    assert check_plan(trace, UNIT, plan) == simulator.run(plan, ratios).peak_bytes == 46
    assert build_plan(planner, recipe, 45, ratios, simulator.run) is None
    (swap,) = plan.swaps
    assert swap.prefetch_before == swap.needed_by
    early = replace(with_swap(plan, prefetch_before=swap.needed_by - 1), budget_bytes=100)
    assert check_plan(trace, UNIT, early) == 57  # 10 bytes and another gradient are there as well


def test_a_plan_from_before_there_was_compression_in_place_is_still_read(compressed):
    _, plan = compressed
    old = to_json(replace(plan, swaps=(), actions=dict.fromkeys(plan.actions, "keep")))
    assert b"in_place" not in old
    swap = (
        b'"swaps":[{"storage":1,"out_after":0,"release_after":1,"prefetch_before":4,"needed_by":5}]'
    )
    read = from_json(old.replace(b'"swaps":[]', swap), Plan, "plan")
    assert not read.swaps[0].in_place
    with pytest.raises(InputError, match="squeeze"):
        from_json(old.replace(b'"keep"', b'"squeeze"', 1), Plan, "plan")

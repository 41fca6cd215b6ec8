"""Promises of every policy on random traces: feasible, in budget, never worse than its parts."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planezip.errors import InputError, OverBudgetError
from planezip.planning import (
    PAPER_POLICIES,
    Planner,
    Problem,
    best_plan,
    check_plan,
    check_timeline,
    make_plan,
    policy,
)
from planezip.planning.portfolio import build_plan, portfolio
from planezip.planning.recipes import cost_model, recompute_only
from planezip.records import Plan, from_json, iteration_seconds, to_json
from planezip.simulation import Simulator
from traces import UNIT, TraceBuilder, chain_trace, traces

RATIOS = st.sampled_from([1.0, 1.5, 4.0])
NAMES = st.sampled_from(sorted(PAPER_POLICIES))


@settings(max_examples=150, deadline=None)
@given(traces(), NAMES, st.integers(30, 100), RATIOS, st.booleans())
def test_every_plan_is_proved_and_stays_within_its_budget(trace, name, percent, ratio, kept):
    problem, simulator = Problem(trace, UNIT), Simulator(trace, UNIT)
    ratios = {s: ratio + s % 3 for s in trace.saved}
    budget = problem.peak_bytes * percent // 100
    plan = best_plan(Planner(problem, kept), policy(name), budget, ratios, simulator.run)
    if plan is None:
        return
    assert kept or not plan.stays
    assert check_plan(trace, UNIT, plan) <= budget
    timeline = simulator.run(plan, plan.ratios, detail=True)
    check_timeline(trace, UNIT, plan, timeline)
    assert timeline.peak_bytes <= budget
    assert timeline.duration_s == plan.predicted_s
    # Without detail, steps in which nothing moves are run together; what comes out is the same.
    assert simulator.run(plan, plan.ratios) == replace(timeline, events=(), memory=())


@settings(max_examples=60, deadline=None)
@given(traces(), st.integers(30, 95), RATIOS, st.booleans())
def test_a_portfolio_is_never_worse_than_its_parts_under_its_own_predictions(
    trace, percent, ratio, kept
):
    problem, simulator = Problem(trace, UNIT), Simulator(trace, UNIT)
    planner = Planner(problem, kept)
    ratios = {s: ratio + s % 3 for s in trace.saved}
    budget = problem.peak_bytes * percent // 100
    best = best_plan(planner, policy("planezip"), budget, ratios, simulator.run)
    unaware = [r for r in portfolio(planner, ratios) if r.name.startswith("uncompressed")]
    raw = best_plan(planner, policy("bw"), budget, {}, simulator.run)
    if raw is not None:
        assert best is not None
        assert best.predicted_s <= simulator.run(raw, ratios).duration_s
    for recipe in (recompute_only(), cost_model(planner, ratios), *unaware):
        part = build_plan(planner, recipe, budget, ratios, simulator.run)
        if part is not None:
            assert best is not None
            assert best.predicted_s <= part.predicted_s


@settings(max_examples=50, deadline=None)
@given(traces(), NAMES)
def test_the_full_budget_changes_nothing(trace, name):
    problem = Problem(trace, UNIT)
    simulator = Simulator(trace, UNIT)
    plan = best_plan(Planner(problem), policy(name), problem.peak_bytes, {}, simulator.run)
    assert set(plan.actions.values()) <= {"keep"}
    assert plan.predicted_s == iteration_seconds(trace, UNIT)
    assert check_plan(trace, UNIT, plan) == problem.peak_bytes


def test_the_portfolio_has_the_18_plans_of_the_paper():
    planner = Planner(Problem(chain_trace([10] * 8, 3, 3), UNIT))
    names = [recipe.name for recipe in portfolio(planner, {})]
    assert len(names) == len(set(names)) == 18


def test_a_hopeless_budget_names_the_smallest_that_a_plan_was_found_for():
    problem = Problem(chain_trace([10] * 8, 3, 3), UNIT)
    planner, simulator = Planner(problem), Simulator(problem.trace, UNIT)
    with pytest.raises(OverBudgetError) as caught:
        make_plan(planner, policy("planezip"), 5, {}, simulator.run)
    smallest = caught.value.smallest_feasible_bytes
    assert f"the smallest budget that a plan was found for is {smallest} bytes" in str(caught.value)
    assert best_plan(planner, policy("planezip"), smallest, {}, simulator.run) is not None
    assert 5 < smallest < problem.peak_bytes


def test_a_replay_that_overflows_leads_to_a_plan_with_a_tighter_target():
    # The replays of a chain need room that a first plan, which fills the budget to the brim, does
    # not leave.
    problem = Problem(chain_trace([10] * 12, 3, 3), UNIT)
    simulator = Simulator(problem.trace, UNIT)
    refused = []

    def simulate(plan, ratios):
        try:
            return simulator.run(plan, ratios)
        except Exception as error:
            refused.append(error)
            raise

    mended = 0
    for budget in range(45, problem.peak_bytes):
        refused.clear()
        plan = build_plan(Planner(problem), recompute_only(), budget, {}, simulate)
        mended += plan is not None and len(refused) > 0
    assert mended


def test_compression_lets_more_be_swapped():
    problem = Problem(chain_trace([10] * 8, 3, 3), UNIT)
    planner, simulator = Planner(problem), Simulator(problem.trace, UNIT)
    ratios = dict.fromkeys(problem.trace.saved, 10.0)
    budget = problem.peak_bytes // 2
    raw = best_plan(planner, policy("bw"), budget, ratios, simulator.run)
    compressed = best_plan(planner, policy("planezip"), budget, ratios, simulator.run)
    assert len(compressed.swaps) > len(raw.swaps)
    assert compressed.predicted_s < raw.predicted_s


def test_dte_only_swaps_what_is_cheaper_to_move_than_to_recompute():
    trace = chain_trace([10] * 8, 3, 3)
    for link_bytes_per_s, never in ((0.1, "swap"), (1000.0, "drop")):
        platform = replace(UNIT, d2h_bytes_per_s=link_bytes_per_s, h2d_bytes_per_s=link_bytes_per_s)
        problem, simulator = Problem(trace, platform), Simulator(trace, platform)
        budget = problem.peak_bytes // 2
        plan = best_plan(Planner(problem), policy("dte"), budget, {}, simulator.run)
        assert set(plan.actions.values()) == {"keep", "swap", "drop"} - {never}


def test_eq_1_charges_the_slower_direction_of_an_asymmetric_link():
    trace = chain_trace([10] * 8, 3, 3)
    for slow in ("d2h_bytes_per_s", "h2d_bytes_per_s"):
        links = {"d2h_bytes_per_s": 1000.0, "h2d_bytes_per_s": 1000.0, slow: 0.1}
        platform = replace(UNIT, **links)
        problem, simulator = Problem(trace, platform), Simulator(trace, platform)
        budget = problem.peak_bytes // 2
        plan = best_plan(Planner(problem), policy("dte"), budget, {}, simulator.run)
        assert "swap" not in plan.actions.values()


def test_a_trace_with_nothing_to_evict_has_a_plan_for_its_own_peak_and_none_below():
    b = TraceBuilder()
    b.op("forward", 1, [], new=[100])
    problem = Problem(b.build(), UNIT)
    planner, simulator = Planner(problem), Simulator(problem.trace, UNIT)
    for name in PAPER_POLICIES:
        assert make_plan(planner, policy(name), 100, {}, simulator.run).predicted_s == 1.0
        with pytest.raises(OverBudgetError) as caught:
            make_plan(planner, policy(name), 99, {}, simulator.run)
        assert caught.value.smallest_feasible_bytes == 100


@settings(max_examples=40, deadline=None)
@given(traces(), NAMES, st.integers(1, 99))
def test_a_budget_is_refused_only_below_the_smallest_that_a_plan_was_found_for(
    trace, name, percent
):
    problem, simulator = Problem(trace, UNIT), Simulator(trace, UNIT)
    budget = problem.peak_bytes * percent // 100
    found = plan_or_refusal(problem, name, budget, simulator)
    if isinstance(found, OverBudgetError):
        assert found.smallest_feasible_bytes > budget
    else:
        assert check_plan(trace, UNIT, found) <= found.budget_bytes <= budget


def plan_or_refusal(problem, name, budget, simulator):
    try:
        return make_plan(Planner(problem), policy(name), budget, {}, simulator.run)
    except OverBudgetError as error:
        return error


def test_a_plan_survives_json():
    problem = Problem(chain_trace([10] * 8, 3, 3), UNIT)
    simulator = Simulator(problem.trace, UNIT)
    budget = problem.peak_bytes // 2
    plan = best_plan(Planner(problem), policy("bw"), budget, {}, simulator.run)
    assert from_json(to_json(plan), Plan, "plan") == plan


def test_an_unknown_policy_is_refused_with_the_names_of_the_known():
    with pytest.raises(InputError, match="planezip"):
        policy("magic")


@settings(max_examples=60, deadline=None)
@given(traces(), NAMES, st.integers(30, 95), RATIOS)
def test_letting_replays_keep_what_they_recompute_is_never_slower(trace, name, percent, ratio):
    problem, simulator = Problem(trace, UNIT), Simulator(trace, UNIT)
    ratios = {s: ratio + s % 3 for s in trace.saved}
    budget = problem.peak_bytes * percent // 100
    freed, kept = (
        best_plan(Planner(problem, keeps), policy(name), budget, ratios, simulator.run)
        for keeps in (False, True)
    )
    assert freed is None or kept.predicted_s <= freed.predicted_s


def test_a_cost_model_with_compressed_transfers_chooses_from_no_plan_but_its_own():
    trace = chain_trace([10] * 8, 3, 3)
    problem, simulator = Problem(trace, UNIT), Simulator(trace, UNIT)
    compressed = replace(policy("dte"), codec="planezip")
    ratios = dict.fromkeys(trace.saved, 4.0)
    budget = problem.peak_bytes // 2
    plan = best_plan(Planner(problem), compressed, budget, ratios, simulator.run)
    assert plan.candidate == "cost model"

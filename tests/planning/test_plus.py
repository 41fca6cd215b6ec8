"""PlaneZip+: proved plans, never worse than the portfolio, the longer the better, repeatable."""

import hashlib
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from planezip.planning import (
    Effort,
    HostPool,
    Planner,
    Problem,
    best_plan,
    check_plan,
    check_timeline,
    lower_bound_s,
    policy,
)
from planezip.planning.plus import MORE_RANKINGS
from planezip.planning.portfolio import lay_out
from planezip.planning.recipes import algorithm1_recipes
from planezip.planning.relaxation import Relaxation
from planezip.planning.rounding import relaxations, rounded_recipes
from planezip.planning.search import Counter, Exhausted, Moves
from planezip.planning.trial import COMPRESS, DROP, KEEP, Decisions, Outcome
from planezip.records import Plan, from_json, to_json
from planezip.simulation import Simulator
from traces import UNIT, TraceBuilder, chain_trace, random_trace, traces

PLUS = policy("planezip+")


def ratios_of(trace):
    return {s: 1.3 + s % 3 for s in trace.saved}


def plan_of(trace, percent, effort, chosen=PLUS, kept=True, **choices):
    problem, simulator = Problem(trace, UNIT), Simulator(trace, UNIT)
    budget = problem.peak_bytes * percent // 100
    planner = Planner(problem, kept, **choices)
    return best_plan(planner, chosen, budget, ratios_of(trace), simulator.run, effort)


@settings(max_examples=60, deadline=None)
@given(
    traces(),
    st.integers(30, 100),
    st.integers(0, 2**32),
    st.sampled_from([0, 30, 400]),
    st.booleans(),
)
def test_every_plan_is_proved_and_never_worse_than_the_portfolio(
    trace, percent, seed, evaluations, in_place
):
    plan = plan_of(trace, percent, Effort(evaluations, None, seed), in_place=in_place)
    portfolio = plan_of(trace, percent, Effort(), policy("planezip"), in_place=in_place)
    if plan is None:
        assert portfolio is None
        return
    assert portfolio is None or plan.predicted_s <= portfolio.predicted_s
    assert plan.evaluations <= evaluations
    assert check_plan(trace, UNIT, plan) <= plan.budget_bytes
    timeline = Simulator(trace, UNIT).run(plan, plan.ratios, detail=True)
    check_timeline(trace, UNIT, plan, timeline)
    assert timeline.peak_bytes <= plan.budget_bytes
    assert timeline.duration_s == plan.predicted_s
    bound_s = lower_bound_s(Problem(trace, UNIT), plan.budget_bytes, plan.ratios, in_place)
    assert bound_s <= plan.predicted_s * (1 + 1e-6)
    assert from_json(to_json(plan), Plan, "plan") == plan


@settings(max_examples=30, deadline=None)
@given(traces(), st.integers(30, 95), st.integers(0, 99))
@example(random_trace(Random(224)), 30, 0)  # the linear program drops what planners cannot
def test_without_evaluations_it_is_the_portfolio_and_with_more_it_is_never_slower(
    trace, percent, seed
):
    plans = [plan_of(trace, percent, Effort(n, None, seed)) for n in (0, 20, 100, 700)]
    portfolio = plan_of(trace, percent, Effort(), policy("planezip"))
    if portfolio:
        assert plans[0] == replace(portfolio, policy="planezip+", seed=plans[0].seed)
    durations = [plan.predicted_s if plan else float("inf") for plan in plans]
    assert durations == sorted(durations, reverse=True)


def test_the_seed_and_the_number_of_evaluations_find_a_plan_again():
    for seed in range(3):
        trace = chain_trace([7, 12, 5, 9, 11, 6, 8, 10, 3, 14], [3, 1, 4, 1, 5, 9, 2, 6, 5, 3], 2)
        stopped = plan_of(trace, 50, Effort(3000, None, seed))
        again = plan_of(trace, 50, Effort(stopped.evaluations, None, seed))
        assert again == stopped


def test_a_search_that_runs_out_of_time_is_found_again_by_its_evaluations():
    trace = chain_trace([7, 12, 5, 9, 11, 6, 8, 10, 3, 14], [3, 1, 4, 1, 5, 9, 2, 6, 5, 3], 2)
    for seconds in (0.0, 0.01, 0.05):
        stopped = plan_of(trace, 50, Effort(10**9, seconds, 1))
        assert plan_of(trace, 50, Effort(stopped.evaluations, None, 1)) == stopped
    assert stopped.evaluations < 10**9


def test_search_finds_faster_plans_than_the_portfolio():
    faster = 0
    for seed in range(20):
        trace = random_trace(Random(seed))
        before, after = (plan_of(trace, 60, Effort(n, None)) for n in (0, 1500))
        faster += before is not None and after.predicted_s < before.predicted_s
    assert faster >= 3


def test_it_lets_replays_keep_what_they_recompute_whatever_the_others_do():
    trace = chain_trace([10] * 8, 3, 3)
    kept, freed = (plan_of(trace, 50, Effort(200, None), kept=kept) for kept in (True, False))
    assert kept == freed


def test_each_ranking_has_a_name_of_its_own_among_all_recipes():
    planner = Planner(Problem(chain_trace([10] * 8, 3, 3), UNIT))
    names = [r.name for r in algorithm1_recipes(planner, {}, MORE_RANKINGS)]
    budget = planner.problem.peak_bytes // 2
    for name, fractions in relaxations(planner.problem, budget, {}):
        names += [r.name for r in rounded_recipes(planner, {}, name, fractions)]
    assert len(names) == len(set(names)) == 4 * 4 + 2 * 9


@settings(max_examples=40, deadline=None)
@given(traces(), st.integers(30, 95))
def test_replays_that_are_shared_cost_no_more_than_those_alone(trace, percent):
    problem = Problem(trace, UNIT)
    budget = problem.peak_bytes * percent // 100
    shared, alone = (
        Relaxation(problem, budget, ratios_of(trace), shared=one).solve() for one in (True, False)
    )
    assert shared.least_s <= alone.least_s * (1 + 1e-6) + 1e-6
    if alone.least_s < float("inf"):
        assert (alone.dropped + alone.swapped <= 1 + 1e-6).all()


def test_the_search_compresses_in_place_where_that_is_faster_and_only_if_it_may():
    faster = 0
    for seed in range(12):
        trace = random_trace(Random(seed))
        without, with_it = (
            plan_of(trace, 45, Effort(1500, None), in_place=choice) for choice in (False, True)
        )
        if without:
            assert "compress" not in without.actions.values()
            found = with_it.predicted_s < without.predicted_s
            faster += found and "compress" in with_it.actions.values()
    assert faster >= 3


def test_the_search_swaps_no_more_than_the_pool_holds():
    trace = chain_trace([7, 12, 5, 9, 11, 6, 8, 10, 3, 14], [3, 1, 4, 1, 5, 9, 2, 6, 5, 3], 2)
    bytes_of = {s: trace.storages[s].bytes for s in trace.saved}
    unlimited = plan_of(trace, 50, Effort(1000, None))
    bounded = plan_of(trace, 50, Effort(1000, None), pool=HostPool(20, bytes_of))
    swapped = [sum(bytes_of[w.storage] for w in p.swaps) for p in (unlimited, bounded)]
    assert swapped[0] > 20 >= swapped[1]


def drawn(moves, count, times):
    """So many moves, one after the other made."""
    d = Decisions(*(np.zeros(count, dtype=t) for t in (np.uint8, np.uint8, np.int32, np.int32)))
    for _ in range(times):
        changes = moves.draw(d)
        for field, k, value in changes:
            getattr(d, field)[k] = value
        yield changes, d


def test_moves_without_compression_in_place_are_those_that_committed_results_were_found_with():
    problem = Problem(chain_trace([10, 3, 20, 7, 9, 14, 2, 11], 3, 3), UNIT)
    can_drop = [k not in (1, 4) for k in range(8)]
    made = [
        change for changes, _ in drawn(Moves(problem, can_drop, 3), 8, 1000) for change in changes
    ]
    assert hashlib.sha256(repr(made).encode()).hexdigest().startswith("0a7c8a966c55b814")


def test_moves_compress_only_what_shrinks():
    problem = Problem(chain_trace([10] * 8, 3, 3), UNIT)
    can_compress = [k % 2 == 0 for k in range(8)]
    seen = set()
    for _, d in drawn(Moves(problem, [True] * 8, 3, can_compress), 8, 3000):
        seen |= {k for k in range(8) if d.actions[k] == COMPRESS}
    assert seen == {0, 2, 4, 6}


def test_moves_never_drop_what_cannot_be_replayed_and_draw_every_kind():
    problem = Problem(chain_trace([10] * 8, 3, 3), UNIT)
    count = len(problem.candidates)
    never = {1, 4}
    moves = Moves(problem, [k not in never for k in range(count)], seed=3)
    d = Decisions(*(np.zeros(count, dtype=t) for t in (np.uint8, np.uint8, np.int32, np.int32)))
    seen = set()
    for _ in range(3000):
        for field, k, value in moves.draw(d):
            getattr(d, field)[k] = value
            seen.add((field, value > 0))
        assert not any(d.actions[k] == DROP for k in never)
    fields = ("actions", "stays", "early", "delays")
    assert seen == {(field, positive) for field in fields for positive in (True, False)}


def test_a_counter_stops_and_remembers_a_copy_of_the_fastest():
    class Fake:
        def run(self, d):
            return Outcome(float(d.delays[0]), 0, 0, 0, int(d.actions[0] == KEEP))

    counter = Counter(Fake(), limit=3, expired=lambda: False)
    d = Decisions(*(np.ones(1, dtype=t) for t in (np.uint8, np.uint8, np.int32, np.int32)))
    d.delays[0] = 5
    assert counter.run(d, "a") == 5.0
    d.actions[0] = KEEP
    assert counter.run(d, "b") == float("inf")
    d.actions[0], d.delays[0] = DROP, 9
    counter.run(d, "c")
    assert (counter.best.duration_s, counter.best.origin, counter.best.decisions.delays[0]) == (
        5.0,
        "a",
        5,
    )
    with pytest.raises(Exhausted):
        counter.run(d, "d")
    assert counter.made == 3


def test_replays_that_are_joined_run_what_they_share_once():
    b = TraceBuilder()
    batch = b.existing("input", 4)
    a = b.op("forward", 1, [batch], new=[8])
    shared = b.op("forward", 7, [a], new=[9])  # backward does not read it
    first, second = (b.op("forward", 2, [shared], new=[10]) for _ in range(2))
    g = b.op("backward", 1, [second], new=[1])
    g = b.op("backward", 1, [g], new=[1])
    b.op("backward", 1, [g, first, a], new=[1])
    problem = Problem(b.build(), UNIT)
    planner, simulator = Planner(problem), Simulator(problem.trace, UNIT)
    actions = {t: "drop" if t in (first, second) else "keep" for t in problem.candidates}
    seconds = {}
    for ahead in (0, 1, 2):  # `first` is used two operators after `second`
        early = dict.fromkeys((first, second), ahead)
        plan = lay_out(planner, actions, (first, second), 100, {}, early=early)
        check_plan(problem.trace, UNIT, plan)
        seconds[ahead] = simulator.run(plan, {}).recompute_s
    assert seconds == {0: 2 * (7 + 2), 1: 2 * (7 + 2), 2: 7 + 2 + 2}

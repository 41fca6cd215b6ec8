"""No plan of any policy of the paper, under either semantics, is ever faster than the bound."""

from hypothesis import given, settings
from hypothesis import strategies as st

from planezip.planning import PAPER_POLICIES, Planner, Problem, best_plan, lower_bound_s, policy
from planezip.records import iteration_seconds
from planezip.simulation import Simulator
from traces import UNIT, chain_trace, traces

CLOSE = 1e-6


@settings(max_examples=60, deadline=None)
@given(traces(), st.integers(20, 100), st.sampled_from([1.0, 1.5, 4.0]), st.booleans())
def test_no_plan_is_faster_than_the_bound(trace, percent, ratio, kept):
    problem, simulator = Problem(trace, UNIT), Simulator(trace, UNIT)
    ratios = {s: ratio + s % 3 for s in trace.saved}
    budget = problem.peak_bytes * percent // 100
    bounds = {codec: lower_bound_s(problem, budget, ratios if codec else {}) for codec in (0, 1)}
    for chosen in map(policy, PAPER_POLICIES):
        plan = best_plan(Planner(problem, kept), chosen, budget, ratios, simulator.run)
        if plan is not None:
            assert bounds[chosen.codec is not None] <= plan.predicted_s * (1 + CLOSE) + CLOSE


def test_without_a_deficit_it_is_the_iteration_itself():
    problem = Problem(chain_trace([10] * 6, 3, 3), UNIT)
    bound = lower_bound_s(problem, problem.peak_bytes, {})
    assert bound == iteration_seconds(problem.trace, UNIT)


def test_a_deficit_that_the_link_cannot_hide_costs_at_most_the_cheapest_recomputation():
    # 10 bytes must leave; a transfer of 10 s each way has no time, a replay takes 3 s.
    problem = Problem(chain_trace([10] * 6, 3, 0), UNIT)
    bound = lower_bound_s(problem, problem.peak_bytes - 10, {})
    unlimited_s = iteration_seconds(problem.trace, UNIT)
    assert unlimited_s + 1 < bound <= unlimited_s + 3  # a mixture of both may cost less


def test_a_fast_link_makes_the_deficit_free():
    problem = Problem(chain_trace([10] * 8, 20, 20), UNIT)
    bound = lower_bound_s(problem, problem.peak_bytes - 10, {})
    assert bound == iteration_seconds(problem.trace, UNIT)
    assert bound <= lower_bound_s(problem, problem.peak_bytes - 30, {})


def test_a_budget_that_nothing_meets_has_no_bound():
    problem = Problem(chain_trace([10] * 6, 3, 3), UNIT)
    assert lower_bound_s(problem, 5, {}) == float("inf")
    simulator = Simulator(problem.trace, UNIT)
    assert best_plan(Planner(problem, True), policy("planezip"), 5, {}, simulator.run) is None

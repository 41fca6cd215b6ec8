"""Planning grows no worse than n log n in the operators; counted in calls, which load leaves be."""

import sys
from math import log

import pytest

from planezip.planning import Planner, Problem
from planezip.planning.portfolio import build_plan, portfolio
from planezip.records import platform
from planezip.simulation import Simulator
from toynet import build_trace


def calls(layers, kept):
    """Operators of a deeper network, and the calls that a portfolio of plans for it takes."""
    trace = build_trace(layers)
    problem = Problem(trace, platform("B"))
    planner, simulator = Planner(problem, kept), Simulator(trace, problem.platform)
    ratios = dict.fromkeys(trace.saved, 1.8)
    recipes = list(portfolio(planner, ratios))
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        for recipe in recipes:
            build_plan(planner, recipe, problem.peak_bytes // 2, ratios, simulator.run)
    finally:
        sys.setprofile(None)
    return len(trace.ops), count


@pytest.mark.parametrize("kept", [False, True])
def test_plans_of_a_network_four_times_as_deep_take_n_log_n_of_the_work(kept):
    few, small = calls(20, kept)
    many, large = calls(80, kept)
    assert large / small <= many * log(many) / (few * log(few))

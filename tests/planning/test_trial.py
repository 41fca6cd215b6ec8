"""Trials say to the last bit what compiling, placing and simulating say."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planezip.errors import PlanOverflowError
from planezip.planning import Planner, Problem
from planezip.planning.portfolio import lay_out
from planezip.planning.trial import ACTIONS, DROP, KEEP, SWAP, Decisions, Trial
from planezip.simulation import Simulator
from traces import UNIT, chain_trace, traces


def drawn(planner, random):
    """Decisions of any kind, good or bad."""
    candidates = planner.problem.candidates
    allowed = [(KEEP, SWAP, DROP) if planner.can_drop(t) else (KEEP, SWAP) for t in candidates]
    return Decisions(
        np.array([random.choice(a) for a in allowed], dtype=np.uint8),
        np.array([random.randrange(2) for _ in allowed], dtype=np.uint8),
        np.array([random.choice((0, 2, 6, 99)) for _ in allowed], dtype=np.int32),
        np.array([random.choice((0, 0, 1, 5)) for _ in allowed], dtype=np.int32),
    )


def trial_of(planner, ratios, budget):
    copy_s = {t: planner.copy_s(t, ratios[t]) for t in planner.problem.candidates}
    return Trial(planner.problem, planner.layout, copy_s, budget)


def simulated(planner, d, ratios, budget, simulator):
    """What Trial.run says if the plan fits, else None."""
    actions = {t: ACTIONS[a] for t, a in zip(planner.problem.candidates, d.actions, strict=True)}
    stays = [t for t, stay in zip(actions, d.stays, strict=True) if stay and actions[t] == "drop"]
    delays = dict(zip(actions, d.delays.tolist(), strict=True))
    early = dict(zip(actions, d.early.tolist(), strict=True))
    plan = lay_out(planner, actions, stays, budget, ratios, delays, early)
    try:
        t = simulator.run(plan, ratios)
    except PlanOverflowError:
        return None
    return t.duration_s, t.recompute_s, t.stall_s, t.peak_bytes, 0


@settings(max_examples=300, deadline=None)
@given(traces(), st.integers(20, 110), st.integers(0, 2**32))
def test_a_trial_says_to_the_last_bit_what_the_simulator_says(trace, percent, seed):
    problem, simulator = Problem(trace, UNIT), Simulator(trace, UNIT)
    planner, random = Planner(problem, kept=True), Random(seed)
    ratios = {s: 1.3 + s % 3 for s in trace.saved}
    budget = problem.peak_bytes * percent // 100
    trial = trial_of(planner, ratios, budget)
    for _ in range(8):  # what one trial leaves behind must not show in the next
        d = drawn(planner, random)
        outcome = trial.run(d)
        expected = simulated(planner, d, ratios, budget, simulator)
        if expected is None:
            assert outcome.excess_bytes > 0
        else:
            assert outcome == expected


def test_no_random_plan_of_a_chain_differs_whether_it_fits_or_not():
    problem = Problem(chain_trace([7, 12, 5, 9, 11, 6, 8, 10], 3, 3), UNIT)
    planner, simulator = Planner(problem, kept=True), Simulator(problem.trace, UNIT)
    ratios, random = dict.fromkeys(problem.trace.saved, 2.0), Random(1)
    fits = []
    for budget in range(20, problem.peak_bytes + 5, 3):
        trial = trial_of(planner, ratios, budget)
        for _ in range(60):
            d = drawn(planner, random)
            expected = simulated(planner, d, ratios, budget, simulator)
            outcome = trial.run(d)
            fits.append(expected is not None)
            assert (outcome == expected) if expected else outcome.excess_bytes > 0
    assert 0.1 < sum(fits) / len(fits) < 0.9


def test_decisions_that_are_none_are_refused():
    problem = Problem(chain_trace([10] * 6, 3, 3), UNIT)
    planner = Planner(problem, kept=True)
    trial = trial_of(planner, dict.fromkeys(problem.trace.saved, 1.0), problem.peak_bytes)
    d = drawn(planner, Random(0))
    with pytest.raises(ValueError, match="candidate"):
        trial.run(replace(d, actions=d.actions[1:]))
    with pytest.raises(ValueError, match="do not describe"):
        trial.run(replace(d, delays=d.delays - 9))

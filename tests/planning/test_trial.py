"""Trials say to the last bit what compiling, placing and simulating say."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planezip.errors import PlanOverflowError
from planezip.planning import HostPool, Planner, Problem
from planezip.planning.portfolio import lay_out
from planezip.planning.trial import ACTIONS, COMPRESS, DROP, KEEP, SWAP, Decisions, Trial
from planezip.simulation import Simulator
from traces import UNIT, chain_trace, traces


def drawn(planner, random, can_compress):
    """Decisions of any kind, good or bad."""
    allowed = [
        (KEEP, SWAP) + (DROP,) * planner.can_drop(t) + (COMPRESS,) * shrinks
        for t, shrinks in zip(planner.problem.candidates, can_compress, strict=True)
    ]
    return Decisions(
        np.array([random.choice(a) for a in allowed], dtype=np.uint8),
        np.array([random.randrange(2) for _ in allowed], dtype=np.uint8),
        np.array([random.choice((0, 2, 6, 99)) for _ in allowed], dtype=np.int32),
        np.array([random.choice((0, 0, 1, 5)) for _ in allowed], dtype=np.int32),
    )


def trial_of(planner, ratios, budget):
    return Trial(planner.problem, planner.layout, ratios, budget)


def simulated(planner, d, ratios, budget, simulator):
    """What Trial.run says if the plan fits, else None."""
    actions = {t: ACTIONS[a] for t, a in zip(planner.problem.candidates, d.actions, strict=True)}
    stays = [t for t, stay in zip(actions, d.stays, strict=True) if stay and actions[t] == "drop"]
    delays = dict(zip(actions, d.delays.tolist(), strict=True))
    early = dict(zip(actions, d.early.tolist(), strict=True))
    try:
        plan = lay_out(planner, actions, stays, budget, ratios, delays, early)
        t = simulator.run(plan, ratios)
    except PlanOverflowError:
        return None
    return t.duration_s, t.recompute_s, t.stall_s, t.peak_bytes, 0


@settings(max_examples=300, deadline=None)
@given(traces(), st.integers(20, 110), st.integers(0, 2**32))
def test_a_trial_says_to_the_last_bit_what_the_simulator_says(trace, percent, seed):
    random = Random(seed)
    engine = random.choice((0.7, 3.0, 1000.0))
    on = replace(UNIT, encode_bytes_per_s=engine, decode_bytes_per_s=2 * engine, copy_setup_s=0.25)
    problem, simulator = Problem(trace, on), Simulator(trace, on)
    planner = Planner(problem, kept=True)
    ratios = {s: 1.0 + 0.4 * (s % 5) for s in trace.saved}
    budget = problem.peak_bytes * percent // 100
    trial = trial_of(planner, ratios, budget)
    for _ in range(8):  # what one trial leaves behind must not show in the next
        d = drawn(planner, random, trial.can_compress)
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
            d = drawn(planner, random, trial.can_compress)
            expected = simulated(planner, d, ratios, budget, simulator)
            outcome = trial.run(d)
            fits.append(expected is not None)
            assert (outcome == expected) if expected else outcome.excess_bytes > 0
    assert 0.1 < sum(fits) / len(fits) < 0.9


def test_decisions_that_are_none_are_refused():
    problem = Problem(chain_trace([10] * 6, 3, 3), UNIT)
    planner = Planner(problem, kept=True)
    trial = trial_of(planner, dict.fromkeys(problem.trace.saved, 1.0), problem.peak_bytes)
    d = drawn(planner, Random(0), trial.can_compress)
    with pytest.raises(ValueError, match="candidate"):
        trial.run(replace(d, actions=d.actions[1:]))
    with pytest.raises(ValueError, match="do not describe"):
        trial.run(replace(d, delays=d.delays - 9))
    with pytest.raises(ValueError, match="do not describe"):  # at a ratio of one nothing shrinks
        trial.run(replace(d, actions=np.full_like(d.actions, COMPRESS)))


def test_decisions_that_swap_more_than_the_pool_holds_do_not_fit():
    problem = Problem(chain_trace([10] * 6, 3, 3), UNIT)
    layout, swapped = Planner(problem).layout, dict.fromkeys(problem.candidates, "keep")
    d = Decisions.of(problem, swapped | {1: "swap", 2: "swap"}, ())
    for capacity, fits in ((20, True), (19, False)):
        pool = HostPool(capacity, dict.fromkeys(problem.candidates, 10))
        trial = Trial(problem, layout, {}, problem.peak_bytes, pool)
        assert (trial.run(d).excess_bytes == 0) == fits

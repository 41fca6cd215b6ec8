"""Training on sequences of changing length: who plans, who decides online, and what is learned."""

from collections import Counter
from dataclasses import replace

import pytest

from planezip.planning import PlanCache
from planezip.records import platform
from planezip.report.sequences import (
    DYNAMIC_POLICIES,
    ITERATIONS,
    OneLength,
    Training,
    lengths_in_order,
)
from toynet import build_trace

ON = platform("B")
LENGTHS = {n: OneLength(build_trace(6, n * 100_000), ON) for n in (10, 20, 30, 40)}
BUDGET = int(LENGTHS[40].planner.problem.peak_bytes * 0.6)
ORDER = lengths_in_order(list(LENGTHS))


def measured(*ratios):
    return {n: [dict.fromkeys(o.trace.saved, r) for r in ratios] for n, o in LENGTHS.items()}


def train(name, ratios=None, budget=BUDGET):
    training = Training(LENGTHS, DYNAMIC_POLICIES[name], budget, ratios or measured(2.0))
    return training.run(), training.cache


def test_the_order_is_always_the_same_and_one_length_comes_late():
    assert lengths_in_order(list(LENGTHS)) == ORDER
    assert len(ORDER) == ITERATIONS
    assert set(ORDER) == set(LENGTHS)
    assert ORDER.index(30) == ITERATIONS // 3


def test_every_sequence_is_decided_online_once_and_then_planned():
    iterations, cache = train("planned")
    assert [one.tokens for one in iterations] == ORDER
    assert all((one.way == "online") == (one.sight == 1) for one in iterations)
    assert (cache.hits, cache.misses) == (ITERATIONS - len(LENGTHS), len(LENGTHS))
    sights = Counter()
    for one in iterations:
        sights[one.tokens] += 1
        assert one.sight == sights[one.tokens]


@pytest.mark.parametrize("name", DYNAMIC_POLICIES)
def test_memory_never_exceeds_the_budget(name):
    for one in train(name)[0]:
        assert one.timeline.peak_bytes <= BUDGET
        assert one.timeline.duration_s >= one.unlimited_s * (1 - 1e-9)


def test_online_policies_never_look_for_a_plan():
    for name in ("online", "online-raw", "online-recompute"):
        iterations, cache = train(name)
        assert {one.way for one in iterations} == {"online"}
        assert (cache.hits, cache.misses) == (0, 0)


def test_one_plan_for_the_longest_evicts_where_nothing_would_have_to():
    borrowed, planned = train("longest")[0], train("planned")[0]
    assert {one.way for one in borrowed} == {"plan"}
    short = [i for i, one in enumerate(planned) if one.tokens == 10]
    for i in short:
        assert planned[i].timeline.duration_s == pytest.approx(planned[i].unlimited_s)
        assert borrowed[i].timeline.duration_s >= planned[i].timeline.duration_s
    assert any(not b.swapped <= p.swapped for b, p in zip(borrowed, planned, strict=True))


def test_a_plan_that_no_longer_fits_its_ratios_is_replaced_by_online_eviction():
    class Overflowing(PlanCache):
        def get(self, trace, platform, budget_bytes):
            plan = super().get(trace, platform, budget_bytes)
            return plan and replace(plan, budget_bytes=plan.budget_bytes // 2)

    training = Training(LENGTHS, DYNAMIC_POLICIES["planned"], BUDGET, measured(2.0))
    training._cache = Overflowing()
    again = [one for one in training.run() if one.tokens == 40 and one.sight > 1]
    assert {one.way for one in again} == {"overflow"}
    assert all(one.timeline.peak_bytes <= BUDGET for one in again)


def test_a_budget_that_nothing_fits_is_said():
    iterations, _ = train("planned", budget=1)
    assert {one.timeline for one in iterations} == {None}


def test_the_first_iteration_of_a_new_length_knows_the_ratios_of_the_others(monkeypatch):
    believed = {}

    def online(self, budget_bytes, predicted, actual):
        believed.setdefault(max(s.bytes for s in self.trace.storages), predicted)
        return None, frozenset()

    monkeypatch.setattr(OneLength, "online", online)
    train("online", measured(3.0))
    order = [n * 100_000 for n in dict.fromkeys(ORDER)]
    assert set(believed[order[0]].values()) == {1.0}
    for size in order[1:]:
        assert list(believed[size].values()) == pytest.approx([3.0] * len(believed[size]))

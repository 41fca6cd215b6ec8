"""One plan per operator sequence, platform and budget; the least recently used makes room."""

from dataclasses import replace

import pytest

from planezip.planning import PlanCache, Planner, Problem, best_plan, policy
from planezip.records import platform
from planezip.simulation import Simulator
from toynet import build_trace
from traces import UNIT, chain_trace


def plan_for(trace, budget_bytes):
    problem, simulator = Problem(trace, UNIT), Simulator(trace, UNIT)
    return best_plan(Planner(problem), policy("recomp"), budget_bytes, {}, simulator.run)


def test_a_plan_is_found_again_for_its_sequence_platform_and_budget_alone():
    trace, cache = chain_trace([10] * 6, 3), PlanCache()
    assert cache.get(trace, UNIT, 51) is None
    plan = plan_for(trace, 51)
    cache.put(trace, UNIT, plan)
    assert cache.get(chain_trace([10] * 6, 3), UNIT, 51) is plan
    assert cache.get(trace, UNIT, 52) is None
    assert cache.get(trace, replace(UNIT, d2h_bytes_per_s=2.0), 51) is None
    assert cache.get(chain_trace([10] * 5 + [11], 3), UNIT, 51) is None
    assert (cache.report.hits, cache.report.misses, cache.report.removed) == (1, 4, 0)


def test_the_least_recently_used_plan_makes_room():
    cache = PlanCache(capacity=2)
    traces = [chain_trace([10] * n, 3) for n in (4, 5, 6)]
    for trace in traces[:2]:
        cache.put(trace, UNIT, plan_for(trace, 100))
    assert cache.get(traces[0], UNIT, 100)
    cache.put(traces[2], UNIT, plan_for(traces[2], 100))
    assert [cache.get(t, UNIT, 100) is not None for t in traces] == [True, False, True]
    assert cache.report.removed == 1


def test_a_cache_for_no_plans_is_refused():
    with pytest.raises(ValueError, match="0 plans"):
        PlanCache(0)


CHANGES = {
    "a name": lambda op: replace(op, name="aten.other.default"),
    "work": lambda op: replace(op, flops=op.flops + 1),
    "traffic": lambda op: replace(op, other_bytes=op.other_bytes + 1),
    "an element type's traffic": lambda op: replace(op, fp32_bytes=op.fp32_bytes + 4),
    "an operand": lambda op: replace(op, reads=op.reads[:-1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_signature_changes_with_every_operator(change):
    trace = build_trace(2)
    changed = tuple(CHANGES[change](op) if op.index == 1 else op for op in trace.ops)
    assert replace(trace, ops=changed).signature != trace.signature


@pytest.mark.parametrize("change", [{"bytes": 8}, {"dtype": "int32"}, {"kind": "buffer"}])
def test_a_signature_changes_with_every_storage(change):
    trace = build_trace(2)
    storages = (*trace.storages[:-1], replace(trace.storages[-1], **change))
    assert replace(trace, storages=storages).signature != trace.signature


def test_a_signature_is_of_the_operators_and_not_of_who_ran_them():
    trace = build_trace(2)
    other = replace(trace, model="other", batch=9, versions={"torch": "3.0"}, saved_by_hooks=())
    assert other.signature == trace.signature
    assert Problem(other, platform("A")).candidates == Problem(trace, platform("A")).candidates

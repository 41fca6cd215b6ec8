"""The evaluation has a row for every combination, and each row says what simulation says."""

from dataclasses import fields
from itertools import product

import pytest

from planezip.errors import InputError
from planezip.planning import PAPER_POLICIES, check_plan
from planezip.records import iteration_seconds, peak_activation_bytes, platform
from planezip.report.bench import Bench
from planezip.report.evaluate import BUDGETS_PCT, DETAIL_PCT, evaluate
from planezip.report.rows import INFEASIBLE, Row
from toynet import build_capture, build_trace

BOTH = [platform("A"), platform("B")]
FEW = ("recomp", "swap", "planezip")


@pytest.fixture(scope="module")
def outcomes(trace, capture):
    return evaluate(trace, capture, BOTH, workers=1)


def test_the_columns_are_those_that_readers_rely_on():
    assert [f.name for f in fields(Row)] == [
        "model",
        "platform",
        "budget_pct",
        "policy",
        "overhead_pct",
        "throughput_norm",
        "swapped_bytes",
        "recompute_s",
        "stall_s",
        "kept_plan",
    ]


def test_every_combination_has_one_row_in_order(outcomes):
    found = [(o.row.platform, o.row.budget_pct, o.row.policy) for o in outcomes]
    assert found == list(product("AB", BUDGETS_PCT, PAPER_POLICIES))


def test_overhead_and_throughput_compare_with_unlimited_memory(trace, capture):
    bench = Bench(trace, BOTH[0], capture)
    (outcome,) = evaluate(trace, capture, BOTH[:1], [80.0], ["recomp"])
    duration_s = bench.run(bench.make_plan("recomp", bench.budget_bytes(80))).duration_s
    unlimited_s = iteration_seconds(trace, BOTH[0])
    assert duration_s > unlimited_s
    assert outcome.row.overhead_pct == pytest.approx(100 * (duration_s - unlimited_s) / unlimited_s)
    assert outcome.row.throughput_norm == pytest.approx(unlimited_s / duration_s)


def test_plans_with_detail_are_proved_and_stay_within_their_budget(trace, outcomes):
    detailed = [o for o in outcomes if o.plan]
    assert {o.row.budget_pct for o in detailed} == {DETAIL_PCT}
    for o in detailed:
        on = platform(o.row.platform)
        check_plan(trace, on, o.plan)
        assert o.plan.budget_bytes == peak_activation_bytes(trace, on.precision) // 2
        assert o.timeline.peak_bytes <= o.plan.budget_bytes
        assert o.timeline.events
        assert max(held for _, held in o.timeline.memory) == o.timeline.peak_bytes


def test_a_policy_without_a_plan_is_reported_not_dropped(trace):
    (outcome,) = evaluate(trace, None, BOTH[:1], [1.0], ["planezip"])
    assert outcome.row.kept_plan == INFEASIBLE
    assert outcome.row.overhead_pct is None
    assert outcome.row.throughput_norm is None
    assert outcome.plan is None


def test_plans_take_the_first_iteration_and_transfers_the_second(trace, capture):
    bench = Bench(trace, BOTH[0], capture)
    plan = bench.make_plan("swap", bench.budget_bytes(50))
    assert set(plan.ratios.values()) == {1.0}
    plan = bench.make_plan("planezip", bench.budget_bytes(50))
    saved = {t.op: t for t in capture.iterations[0]}
    for s, ratio in plan.ratios.items():
        tensor = saved[trace.storages[s].producer]
        assert ratio == pytest.approx(tensor.sizes["fp32"].ratio("planezip"))
    swapped = {swap.storage for swap in plan.swaps}
    second = {t.op: t.wire_bytes("fp32", "planezip") for t in capture.iterations[1]}
    wire = sum(second[trace.storages[s].producer] for s in swapped)
    assert swapped
    assert bench.run(plan).wire_bytes == pytest.approx(wire, abs=1)
    assert bench.predict(plan).wire_bytes > bench.run(plan).wire_bytes  # iteration 2 packs better


def test_without_a_capture_nothing_compresses(trace):
    (outcome,) = evaluate(trace, None, BOTH[:1], [50.0], ["planezip"])
    assert outcome.timeline.swapped_bytes > 0
    assert outcome.timeline.wire_bytes == outcome.timeline.swapped_bytes


def test_more_processes_give_the_same_outcomes(trace, capture):
    alone = evaluate(trace, capture, BOTH, [50.0], FEW, workers=1)
    assert evaluate(trace, capture, BOTH, [50.0], FEW, workers=2) == alone


def test_progress_counts_every_combination(trace):
    seen = []
    evaluate(trace, None, BOTH, [70.0], FEW, progress=lambda *done: seen.append(done))
    assert seen == [(i, 6) for i in range(1, 7)]


def test_an_unknown_policy_is_named(trace):
    with pytest.raises(InputError, match="'fastest'"):
        evaluate(trace, None, BOTH, [50.0], ["fastest"])


def test_a_capture_of_another_model_is_refused(trace):
    other = build_capture(build_trace(2))
    with pytest.raises(InputError, match="other"):
        evaluate(
            trace, type(other)(**{**vars_of(other), "model": "other"}), BOTH, [50.0], ["planezip"]
        )


def vars_of(record):
    return {f.name: getattr(record, f.name) for f in fields(record)}

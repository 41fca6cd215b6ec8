"""Stability rows compare every iteration with the one before."""

import pytest

from planezip.planning import wire_size_error
from planezip.report.predictability import error_pct, stability


def test_each_iteration_has_a_row_at_both_precisions(capture):
    rows = stability(capture)
    assert [(r.precision, r.iteration, r.loss) for r in rows] == [
        (p, i + 1, loss) for p in ("bf16", "fp32") for i, loss in enumerate(capture.losses)
    ]


def test_errors_are_those_of_predicting_from_the_iteration_before(capture):
    first, second, third = stability(capture)[:3]
    assert first.tensor_error_pct is first.optype_error_pct is first.global_error_pct is None
    pair = capture.iterations[1:3]
    assert third.tensor_error_pct == 100 * wire_size_error(pair, "bf16", "planezip", "tensor")
    assert 0 < second.tensor_error_pct < second.global_error_pct


def test_the_overall_error_covers_all_iterations(capture):
    rows = [r for r in stability(capture) if r.precision == "fp32"]
    errors = [r.tensor_error_pct for r in rows[1:]]
    assert min(errors) <= error_pct(capture, "fp32", "tensor") <= max(errors)


def test_ratios_drift_as_the_capture_does(capture):
    ratios = [r.ratio for r in stability(capture) if r.precision == "bf16"]
    assert ratios == sorted(ratios)
    assert ratios[2] / ratios[0] == pytest.approx(1.01, abs=0.01)

"""The table predicts with the last iteration's sizes (paper III-B, Table IV)."""

from dataclasses import replace

import pytest

from planezip.planning import RatioTable, wire_size_error
from planezip.records import TensorCapture, WireSizes


def tensor(op, raw, wire, name="aten.relu.default", dtype="float32"):
    sizes = WireSizes(raw, {"planezip": wire}, {}, wire)
    half = WireSizes(raw // 2, {"planezip": wire}, {}, wire)
    return TensorCapture(op, name, 0, dtype, raw, 1, {"fp32": sizes, "bf16": half})


FIRST = [tensor(1, 100, 50), tensor(2, 100, 25), tensor(3, 100, 100, "aten.mm.default")]


def test_a_signature_without_a_measurement_is_incompressible():
    assert RatioTable().predict(FIRST[0]) == 1.0


@pytest.mark.parametrize(
    ("signature", "ratios"),
    [("tensor", [2.0, 4.0, 1.0]), ("optype", [200 / 75] * 2 + [1.0]), ("global", [300 / 175] * 3)],
)
def test_every_signature_pools_the_bytes_that_it_covers(signature, ratios):
    table = RatioTable(signature)
    table.update(FIRST, "fp32", "planezip")
    assert [table.predict(t) for t in FIRST] == pytest.approx(ratios, rel=1e-12)


def test_an_operator_type_keeps_the_outputs_of_one_operator_apart():
    output = tensor(1, 400, 100, "aten.native_dropout.default")
    mask = replace(tensor(1, 100, 10, "aten.native_dropout.default", "bool"), slot=1)
    table = RatioTable("optype")
    table.update([output, mask], "fp32", "planezip")
    assert [table.predict(t) for t in (output, mask)] == [4.0, 10.0]


def test_a_new_measurement_overwrites_the_old():
    table = RatioTable()
    table.update(FIRST, "fp32", "planezip")
    table.update([tensor(1, 100, 20)], "fp32", "planezip")
    assert table.predict(FIRST[0]) == 5.0
    assert table.predict(FIRST[1]) == 4.0


def test_tensors_without_a_counterpart_are_incompressible():
    table = RatioTable()
    table.update(FIRST, "fp32", "planezip")
    assert table.predict_all({7: FIRST[0], 8: None}) == {7: 2.0, 8: 1.0}


def test_wire_size_error_is_absolute_errors_over_wire_bytes():
    second = [tensor(1, 100, 40), tensor(2, 100, 30), FIRST[2]]
    error = wire_size_error([FIRST, second], "fp32", "planezip")
    assert error == pytest.approx((10 + 5 + 0) / (40 + 30 + 100), rel=1e-12)


def test_bf16_sizes_are_those_of_half_the_bytes():
    table = RatioTable()
    table.update([tensor(1, 100, 25)], "bf16", "planezip")
    assert table.predict(tensor(1, 100, 25)) == 2.0


def test_one_iteration_alone_has_no_error():
    assert wire_size_error([FIRST], "fp32", "planezip") == 0.0

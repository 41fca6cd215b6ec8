"""Ratios from the paper's Table III, as an alternative to a capture."""

from dataclasses import replace

import pytest

from planezip.records import Op, Storage, Trace, platform
from planezip.records.capture import SYMBOL32
from planezip.records.measurements import PAPER_MODELS, shipped
from planezip.report.bench import Bench
from planezip.report.published import paper
from planezip.report.sources import Captured, PaperTable

TABLE = PaperTable()


def one_tensor(op_name, dtype="float32", slot=0, model="net"):
    """A trace that saves one output of one operator."""
    made = [Storage(i, "activation", dtype, 64, 0, i) for i in range(slot + 1)]
    ops = (
        Op(0, op_name, "forward", 0, 64, 0, (), tuple(range(slot + 1))),
        Op(1, "aten.sum.default", "backward", 0, 64, 0, (slot,), ()),
        Op(2, "aten.mul.Tensor", "backward", 0, 64, 0, (slot,), (slot + 1,)),
    )
    last = Storage(slot + 1, "activation", dtype, 64, 2, 0)
    return Trace(model, 1, 0, ops, (*made, last)), slot


def ratio(op_name, codec="planezip", precision="bf16", **changes):
    trace, saved = one_tensor(op_name, **changes)
    return TABLE.ratios(trace, precision, codec)[saved]


@pytest.mark.parametrize(
    ("op", "changes", "zvc", "planezip"),
    [
        ("aten.convolution.default", {}, 1.0, 1.45),
        ("aten.relu_.default", {}, 2.16, 3.21),
        ("aten._softmax.default", {}, 1.51, 2.10),
        ("aten._softmax.default", {"model": "gpt2"}, 1.78, 2.47),
        ("aten._softmax.default", {"model": "vit_base_patch16_224"}, 1.0, 1.40),
        ("aten.native_dropout.default", {}, 1.94, 2.50),
        ("aten.native_dropout.default", {"slot": 1, "dtype": "bool"}, 1.0, 5.86),
        ("aten.max_pool2d_with_indices.default", {"slot": 1, "dtype": "int64"}, 1.88, 5.25),
        ("aten.some_new_operator.default", {}, 1.0, 1.0),
    ],
)
def test_bf16_ratios_are_those_of_table_3_and_of_the_text(op, changes, zvc, planezip):
    assert ratio(op, "zvc", **changes) == zvc
    assert ratio(op, "planezip", **changes) == planezip


def test_in_fp32_the_lower_halves_of_all_but_zeros_stay_as_they_are():
    # Dense: 16 bits become 16/1.45, the other 16 stay.
    assert ratio("aten.convolution.default", precision="fp32") == 32 / (16 / 1.45 + 16)
    # ReLU: of 16 bits ZVC leaves 16/2.16, one of them in the mask: 40 % of the values are not zero.
    nonzero = (16 / 2.16 - 1) / 16
    assert ratio("aten.relu.default", precision="fp32") == 32 / (16 / 3.21 + 16 * nonzero)
    assert ratio("aten.relu.default", "zvc", "fp32") == 32 / (1 + 32 * nonzero)
    assert ratio("aten.convolution.default", "zvc", "fp32") == 1.0


def test_what_is_not_fp32_compresses_alike_at_both_precisions():
    mask = {"slot": 1, "dtype": "bool"}
    assert ratio("aten.native_dropout.default", precision="fp32", **mask) == 5.86
    trace, saved = one_tensor("aten.relu.default")
    final = replace(trace, storages=tuple(replace(s, final=True) for s in trace.storages))
    assert TABLE.ratios(final, "fp32", "planezip")[saved] == 3.21


@pytest.mark.parametrize("model", [m for m in shipped().models() if m in PAPER_MODELS])
def test_together_they_give_the_ratio_of_figure_3(model):
    trace = shipped().trace(model)
    for precision, theirs in paper().ratios(model, "trained").items():
        ratios = TABLE.ratios(trace, precision, "planezip")
        sizes = {s: trace.storages[s].bytes_at(precision) for s in trace.saved}
        ours = sum(sizes.values()) / sum(size / ratios[s] for s, size in sizes.items())
        assert ours == pytest.approx(theirs, rel=0.09)


def test_a_bench_plans_and_transfers_with_the_table(trace):
    bench = Bench(trace, platform("B"), TABLE)
    plan = bench.make_plan("planezip", bench.budget_bytes(50))
    relus = [s.id for s in trace.storages if trace.ops[s.producer].name == "aten.relu.default"]
    assert {plan.ratios[s] for s in relus if s in plan.ratios} == {3.21}
    assert bench.predict(plan) == bench.run(plan)
    assert 0 < bench.run(plan).wire_bytes < bench.run(plan).swapped_bytes


def test_the_table_has_nothing_about_32_bit_symbols(trace):
    assert TABLE.ratios(trace, "bf16", SYMBOL32) == {}


def test_a_capture_gives_the_ratios_of_any_iteration_and_signature(trace, capture):
    source = Captured(capture)
    first, second = (source.ratios(trace, "bf16", "planezip", i) for i in (0, 1))
    assert first.keys() == set(trace.saved)
    assert first != second
    alike = source.ratios(trace, "bf16", "planezip", 0, "optype")
    names = {s: trace.ops[trace.storages[s].producer].name for s in trace.saved if s}
    for name in set(names.values()):
        assert len({alike[s] for s, own in names.items() if own == name}) == 1
    narrow = source.ratios(trace, "bf16", SYMBOL32)
    assert narrow.keys() == first.keys()

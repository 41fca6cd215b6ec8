"""Ratios are bytes in over bytes out, by codec and by producing operator."""

from dataclasses import replace

import pytest

from planezip.codec import CODECS
from planezip.codec.format import ENCODERS
from planezip.records import Capture, TensorCapture, WireSizes
from planezip.report.names import CODECS as CODEC_NAMES
from planezip.report.names import ENCODERS as ENCODER_NAMES
from planezip.report.producers import category, producers
from planezip.report.published import paper
from planezip.report.ratios import Ratio, mixed_models, ratio_of, ratios


def tensor(raw: int, wire: int, **changes) -> TensorCapture:
    sizes = WireSizes(raw, dict.fromkeys(CODECS, wire), {"bx": 3, "zbx": 1}, 2 * wire)
    made = TensorCapture(0, "aten.relu.default", 0, "uint8", raw, 1, {"bf16": sizes, "fp32": sizes})
    return replace(made, **changes)


def a_capture(*tensors: TensorCapture) -> Capture:
    return Capture("toynet", 1, "random", "none", (tensors,), (1.0,), (), {})


def test_tensors_are_weighted_by_bytes():
    assert ratio_of([tensor(300, 100), tensor(100, 100)], "fp32", "bx") == 2.0


def test_a_sampled_tensor_counts_with_all_of_its_bytes():
    sampled = tensor(100, 50, bytes=400, chunk_stride=4)
    assert ratio_of([sampled, tensor(200, 200)], "fp32", "bx") == 600 / (200 + 200)


def test_a_model_whose_ratios_are_the_same_at_both_precisions_is_mixed():
    def rows(model, *by_codec):
        return [
            Ratio(model, precision, codec, ratio)
            for codec, *both in by_codec
            for precision, ratio in zip(("bf16", "fp32"), both, strict=True)
        ]

    alike, apart = ("bx", 1.4, 1.4), ("planezip", 1.5, 1.4)
    found = rows("llama", alike) + rows("gpt2", alike, apart) + rows("half", alike)[:1]
    assert mixed_models(found) == {"llama"}


def test_nothing_saved_has_ratio_one():
    assert ratio_of([], "bf16", "bx") == 1.0


def test_every_codec_and_the_wide_symbols_have_a_ratio_at_both_precisions():
    rows = ratios(a_capture(tensor(400, 100)))
    assert {(r.precision, r.codec) for r in rows} == {
        (p, c) for p in ("bf16", "fp32") for c in (*CODECS, "planezip-w32")
    }
    assert {r.ratio for r in rows if r.codec == "planezip-w32"} == {2.0}
    assert {r.ratio for r in rows if r.codec != "planezip-w32"} == {4.0}


def test_every_codec_and_encoder_has_a_name_for_people():
    assert set(CODECS) < set(CODEC_NAMES)
    assert set(ENCODERS) == set(ENCODER_NAMES)


@pytest.mark.parametrize(
    ("operator", "changes", "expected"),
    [
        ("aten.convolution.default", {}, "Conv output"),
        ("aten.relu_.default", {}, "ReLU output"),
        ("aten.add_.Tensor", {}, "Elementwise"),
        ("aten.native_batch_norm.default", {"slot": 1}, "Norm in/out"),
        ("aten.addmm.default", {}, "Linear output"),
        ("aten.max_pool2d_with_indices.default", {}, "Pooling output"),
        ("aten.max_pool2d_with_indices.default", {"slot": 1, "dtype": "int64"}, "Indices"),
        ("aten.native_dropout.default", {}, "Dropout output"),
        ("aten.native_dropout.default", {"slot": 1, "dtype": "bool"}, "Dropout mask"),
        ("aten._log_softmax.default", {}, "Log-softmax"),
        ("input", {"op": -1}, "Input batch"),
        ("input", {"op": -1, "dtype": "int64"}, "Indices"),
        ("somebody.own_op.default", {}, "Other"),
    ],
)
def test_operators_fall_into_the_papers_categories(operator, changes, expected):
    assert category(tensor(1, 1, op_name=operator, **changes)) == expected


def test_the_papers_categories_can_all_occur():
    names = {category(tensor(1, 1, op_name=f"aten.{n}.default")) for n in (
        "convolution", "mul", "relu", "cat", "_softmax", "mm", "native_layer_norm", "_log_softmax",
        "native_dropout",
    )}  # fmt: skip
    assert names | {"Dropout mask", "Indices"} == set(paper().producers)


def test_producers_have_shares_ratios_and_their_most_frequent_encoder():
    conv = tensor(100, 100, op_name="aten.convolution.default")
    rows = [r for r in producers(a_capture(tensor(300, 100), conv)) if r.precision == "bf16"]
    assert [(r.producer, r.share_pct, r.planezip) for r in rows] == [
        ("ReLU output", 75.0, 3.0),
        ("Conv output", 25.0, 1.0),
    ]
    assert {(r.top_encoder, r.top_share_pct) for r in rows} == {("bx", 75.0)}

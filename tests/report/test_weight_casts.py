"""Casts of weights are told from other copies by what they read."""

from dataclasses import replace

import pytest

from planezip.records import Op, Storage, Trace, save
from planezip.records.measurements import AUTOCAST_MODELS, Measurements, shipped
from planezip.report.artefacts import ARTEFACTS
from planezip.report.producers import category
from planezip.report.ratios import ratio_of
from planezip.report.study import Study
from planezip.report.weight_casts import captured_weight_casts, weight_casts
from toynet import build_capture

CAST = "aten._to_copy.default"


def mixed_trace(size: int, clones: int = 1) -> Trace:
    """Weight and activation are cast, multiplied, and both casts read again in backward.

    Sizes of the two casts are equal at size 1000, so that nothing but what they read tells them
    apart.
    """
    storages = (
        Storage(0, "input", "float32", 2 * size, -1, 0, True),
        Storage(1, "parameter", "float32", 2000, -1, 0, True),
        Storage(2, "activation", "bfloat16", 1000, 0, 0, True),  # the weight's cast
        Storage(3, "activation", "bfloat16", size, 1, 0, True),  # the activation's
        Storage(4, "activation", "float32", 1000, 2, 0, True),  # made of a parameter, but no cast
        Storage(5, "activation", "bfloat16", size, 3, 0, True),  # a cast of both
        *(Storage(6 + i, "activation", "bfloat16", size, 4 + i, 0, True) for i in range(clones)),
    )
    ops = [
        Op(0, CAST, "forward", 0, 0, 3000, (1,), (2,)),
        Op(1, CAST, "forward", 0, 0, 3 * size, (0,), (3,)),
        Op(2, "aten.mul.Tensor", "forward", 0, 0, 3000, (1,), (4,)),
        Op(3, CAST, "forward", 0, 0, 3000, (0, 1), (5,)),
        *(
            Op(4 + i, "aten.clone.default", "forward", 0, 0, 2 * size, (3,), (6 + i,))
            for i in range(clones)
        ),
    ]
    read = (2, 3, 4, 5, *range(6, 6 + clones))
    ops.append(Op(len(ops), "aten.mm.default", "backward", 0, 0, 2000, read, ()))
    ops[-1] = replace(ops[-1], writes=(len(storages),))
    gradient = Storage(len(storages), "activation", "float32", 8, len(ops) - 1, 0, True)
    return Trace("gpt2", size // 1000, 500, tuple(ops), (*storages, gradient), (), {})


def test_a_weight_cast_is_a_cast_that_reads_a_parameter_alone():
    assert weight_casts(mixed_trace(1000)) == (2,)


def test_a_cast_that_backward_does_not_read_is_none():
    trace = mixed_trace(1000)
    unread = replace(trace.ops[-1], reads=(3, 4, 5))
    assert weight_casts(replace(trace, ops=(*trace.ops[:-1], unread))) == ()


def captured(trace):
    """In mixed precision; the weight's cast compresses worse than all else."""
    made = build_capture(trace)

    def final(tensor):
        sizes = tensor.sizes["bf16"]
        if tensor.op == 0:
            sizes = replace(sizes, wire_bytes={c: n + 200 for c, n in sizes.wire_bytes.items()})
        return replace(tensor, final=True, sizes={"bf16": sizes, "fp32": sizes})

    return replace(made, iterations=tuple(tuple(map(final, ts)) for ts in made.iterations))


def test_they_are_found_in_a_capture_of_another_batch_and_sequence():
    """Even where the only tensor of that size is another one."""
    capture = captured(mixed_trace(1000, clones=0))
    assert captured_weight_casts(capture, mixed_trace(8000, clones=2)) == {(0, 0)}


@pytest.fixture
def measured(tmp_path):
    """gpt2 converted and under autocast at batch 1, traced at batch 8."""
    small, large = mixed_trace(1000), mixed_trace(8000)
    folder = tmp_path / "gpt2"
    save(folder / "trace.json.gz", large)
    save(folder / "trained.json.gz", build_capture(small))
    save(folder / "autocast.json.gz", captured(small))
    save(folder / "trace_autocast.json.gz", large)
    return Study(tmp_path, jobs=1)


def test_autocast_gives_them_a_row_of_their_own(measured):
    rows = {row.producer: row for row in ARTEFACTS["autocast"].rows(measured)}
    tensors = measured.capture("gpt2", "autocast").iterations[0]
    (cast,) = (t for t in tensors if t.op == 0)
    others = [t for t in tensors if t.op != 0]
    total = sum(t.bytes for t in tensors)
    assert rows["Weight cast"].autocast_share_pct == 100 * cast.bytes / total
    assert rows["Weight cast"].autocast == ratio_of([cast], "bf16", "planezip")
    assert rows["Weight cast"].converted is None
    but = rows["All but weight casts"]
    assert but.autocast == ratio_of(others, "bf16", "planezip") != rows["all"].autocast
    assert but.converted == rows["all"].converted
    copies = [t for t in others if category(t) == "Copy/concat"]
    assert rows["Copy/concat"].autocast == ratio_of(copies, "bf16", "planezip")
    shares = [r.autocast_share_pct or 0 for r in rows.values()]
    assert sum(shares) == pytest.approx(100 + 100 + but.autocast_share_pct)


def test_their_share_falls_with_the_batch(measured):
    (row,) = ARTEFACTS["weight_casts"].rows(measured)
    assert (row.casts, row.cast_bytes) == (1, 1000)
    assert (row.capture_batch, row.training_batch) == (1, 8)
    trace = measured.trace("gpt2", "trace_autocast")
    assert row.training_pct == 100 * 1000 / trace.saved_bytes < row.captured_pct


def test_without_a_trace_under_autocast_nothing_is_guessed(measured):
    measured.path("gpt2", "trace_autocast").unlink()
    measured.path("gpt2", "trained").unlink()
    save(measured.path("gpt2", "trained"), build_capture(mixed_trace(1000)))
    assert "Weight cast" not in {row.producer for row in ARTEFACTS["autocast"].rows(measured)}


@pytest.mark.parametrize("model", AUTOCAST_MODELS)
def test_the_packages_traces_tell_all_of_them(model):
    """As many and as large in the capture as in the trace: the casts do not grow with the batch."""
    found: Measurements = shipped()
    capture, trace = found.capture(model, "autocast"), found.trace(model, "trace_autocast")
    casts = captured_weight_casts(capture, trace)
    tensors = [t for t in capture.iterations[0] if (t.op, t.slot) in casts]
    assert len(casts) == len(tensors) == len(weight_casts(trace)) > 40
    assert sum(t.bytes for t in tensors) == sum(
        trace.storages[s].bytes for s in weight_casts(trace)
    )

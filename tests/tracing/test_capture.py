"""Captures: every saved activation once, right contents, bounded memory, checked decoding."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from nets import SHAPES, Residual, loss_of, make
from planezip.codec import Measurement, measure
from planezip.errors import InputError
from planezip.records import Capture, from_json, to_json
from planezip.tracing import PlaneZipCodec, capture_steps, trace_step
from planezip.tracing import contents as contents_module
from planezip.tracing.contents import chunk_stride, whole_storage, wire_sizes
from planezip.tracing.dropout import FusedDropout
from planezip.units import MIB
from spy_codec import Spy


def captured(net: type[nn.Module] = Residual, codec: object = None, steps: int = 3) -> Capture:
    model, batch = make(net)
    trainable = [p for p in model.parameters() if p.requires_grad]
    return capture_steps(
        loss_of(model),
        model,
        torch.optim.SGD(trainable, lr=0.05, foreach=False),
        [batch] * steps,
        name="net",
        weights="random",
        data="noise",
        codec=codec,
    )


@pytest.mark.parametrize("net", SHAPES, ids=lambda net: net.__name__)
def test_every_saved_activation_of_every_iteration_is_captured_once(net: type[nn.Module]) -> None:
    capture = captured(net)
    model, batch = make(net)
    trainable = [p for p in model.parameters() if p.requires_grad]
    trace = trace_step(
        loss_of(model), model, torch.optim.SGD(trainable, foreach=False), batch
    ).trace
    expected = [
        (s.producer, s.slot, s.dtype, s.bytes) for s in map(trace.storages.__getitem__, trace.saved)
    ]
    assert len(capture.iterations) == 3
    for iteration in capture.iterations:
        assert [(t.op, t.slot, t.dtype, t.bytes) for t in iteration] == expected
    assert capture.op_names == tuple(op.name for op in trace.ops)


def saved_contents(net: type[nn.Module]) -> set[bytes]:
    """Whole storages of what autograd hands to backward, parameters and buffers left out."""
    model, batch = make(net)
    own = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers())}
    held: set[bytes] = set()

    def unpack(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in own:
            held.add(whole_storage(tensor.detach()).view(torch.uint8).numpy().tobytes())
        return tensor

    torch.manual_seed(0)
    with FusedDropout(), torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        loss_of(model)(*batch).backward()
    return held


@pytest.mark.parametrize("net", SHAPES, ids=lambda net: net.__name__)
def test_contents_are_those_that_backward_reads(net: type[nn.Module]) -> None:
    spy = Spy()
    captured(net, spy, steps=1)
    assert set(spy.raw) == saved_contents(net)


def test_operators_are_named_after_the_last_that_wrote() -> None:
    """A ReLU in place leaves a ReLU output in the storage that batch norm produced."""
    capture = captured()
    names = {t.op_name: capture.op_names[t.op] for t in capture.iterations[0] if t.op >= 0}
    assert names["aten.relu_.default"] == "aten.native_batch_norm.default"
    assert [t.op_name for t in capture.iterations[0] if t.op == -1] == ["input", "input"]


def test_training_goes_on_between_the_iterations() -> None:
    losses = captured().losses
    assert losses[0] > losses[1] > losses[2]


def test_nothing_is_retained() -> None:
    spy = Spy()
    capture = captured(codec=spy)
    largest = max(t.bytes_at("bf16") for i in capture.iterations for t in i)
    assert max(spy.live_bytes) <= largest
    assert len(spy.handed) > 20
    assert all(ref.expired() for ref in spy.handed)


def test_precisions_and_symbol_widths() -> None:
    spy = Spy()
    sizes = wire_sizes(torch.ones(64), spy)
    assert spy.asked == [
        (torch.float32, None, 1),
        (torch.bfloat16, None, 1),
        (torch.bfloat16, 32, 1),
    ]
    assert (sizes["fp32"].raw_bytes, sizes["bf16"].raw_bytes) == (256, 128)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.float64, torch.bfloat16])
def test_other_types_are_the_same_at_both_precisions(dtype: torch.dtype) -> None:
    sizes = wire_sizes(torch.ones(640, dtype=dtype), PlaneZipCodec())
    assert sizes["fp32"] == sizes["bf16"]
    assert sizes["fp32"].raw_bytes == 640 * dtype.itemsize


def test_bf16_rounds_to_nearest_even() -> None:
    bits = torch.tensor([0x3F808000, 0x3F818000, 0x3F808001, 0x3F817FFF], dtype=torch.int32)

    class Keeper(Spy):
        kept = ()

        def measure(self, x: torch.Tensor, symbol_bits: int | None, stride: int) -> Measurement:
            if x.dtype == torch.bfloat16:
                self.kept = tuple(x.view(torch.int16).tolist())
            return super().measure(x, symbol_bits, stride)

    keeper = Keeper()
    wire_sizes(bits.view(torch.float32), keeper)
    assert keeper.kept == (0x3F80, 0x3F82, 0x3F81, 0x3F81)


def test_large_tensors_are_sampled() -> None:
    assert [chunk_stride(n) for n in (0, 32 * MIB, 32 * MIB + 1)] == [1, 1, 4]


def test_a_sample_is_every_fourth_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents_module, "_SAMPLE_ABOVE_BYTES", 1)
    x = torch.from_numpy(np.random.default_rng(0).standard_normal(10_000, np.float32)).relu()
    sampled = wire_sizes(x, PlaneZipCodec())["fp32"]
    chunks = [x[i : i + 1024] for i in range(0, 10_000, 4096)]
    parts = [measure(c) for c in chunks]
    assert sampled.raw_bytes == sum(4 * len(c) for c in chunks)
    assert sampled.wire_bytes["planezip"] == sum(p.wire_bytes["planezip"] for p in parts)


def test_a_codec_that_loses_a_bit_is_found_out() -> None:
    with pytest.raises(RuntimeError, match="does not restore"):
        captured(codec=Spy(damage=True))


def test_the_real_codec_passes_its_checks_and_the_capture_survives_json() -> None:
    capture = captured()
    assert from_json(to_json(capture), Capture, "capture") == capture
    for tensor in capture.iterations[0]:
        assert tensor.sizes["fp32"].raw_bytes == tensor.bytes
        assert set(tensor.sizes["bf16"].wire_bytes) == set(PlaneZipCodec().names)


def test_a_loss_that_is_no_number_is_refused() -> None:
    model, (x, y) = make(Residual)
    with pytest.raises(InputError, match="loss of captured iteration 0 is nan"):
        capture_steps(
            loss_of(model),
            model,
            torch.optim.SGD(model.parameters()),
            [(x * math.nan, y)],
            name="net",
            weights="random",
            data="noise",
        )


def test_a_sequence_that_changes_is_noted() -> None:
    model, (x, y) = make(Residual)
    calls = iter((False, True))

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = loss_of(model)(x, y)
        return out * 2 if next(calls) else out

    capture = capture_steps(
        loss,
        model,
        torch.optim.SGD(model.parameters(), foreach=False),
        [(x, y)] * 2,
        name="net",
        weights="random",
        data="noise",
    )
    assert capture.notes == ("the operators of iteration 1 are not those of iteration 0",)


def test_a_capture_needs_a_batch() -> None:
    with pytest.raises(InputError, match="batch"):
        captured(steps=0)


class OnlyLooksAt(torch.autograd.Function):
    """Its backward takes a view of what it kept and never reads it."""

    @staticmethod
    def forward(ctx, x):
        ctx.held = x
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.held.view(-1).shape[0]


def test_what_backward_only_looks_at_is_not_compressed() -> None:
    layer, spy, x = nn.Linear(3, 3), Spy(), torch.ones(2, 3)
    seen: list[int] = []
    capture = capture_steps(
        lambda x: OnlyLooksAt.apply(layer(x)).sum(),
        layer,
        torch.optim.SGD(layer.parameters()),
        [(x,)],
        name="net",
        weights="random",
        data="noise",
        codec=spy,
        on_tensor=lambda iteration, done: seen.append(done),
    )
    assert [t.op_name for t in capture.iterations[0]] == ["input"]
    assert spy.raw == [x.numpy().tobytes()]
    assert seen == [1]


def test_contents_are_taken_at_the_first_reading_not_at_a_view() -> None:
    """A view moves no data; what the first operator that reads needs is what must be kept."""
    layer, order = nn.Linear(3, 3), []

    class Ordered(Spy):
        def measure(self, x: torch.Tensor, symbol_bits: int | None, stride: int) -> Measurement:
            order.append("measure")
            return super().measure(x, symbol_bits, stride)

    class LooksFirst(OnlyLooksAt):
        @staticmethod
        def backward(ctx, grad):
            kept = ctx.held.view(-1)
            order.append("viewed")
            return grad * kept.view(2, 3)

    capture_steps(
        lambda x: LooksFirst.apply(layer(x)).sum(),
        layer,
        torch.optim.SGD(layer.parameters()),
        [(torch.ones(2, 3),)],
        name="net",
        weights="random",
        data="noise",
        codec=Ordered(),
    )
    assert order[0] == "viewed"


def test_progress_is_reported_for_every_tensor() -> None:
    seen: list[tuple[int, int]] = []
    model, batch = make(Residual)
    capture = capture_steps(
        loss_of(model),
        model,
        torch.optim.SGD(model.parameters()),
        [batch] * 2,
        name="net",
        weights="random",
        data="noise",
        codec=Spy(),
        on_tensor=lambda iteration, done: seen.append((iteration, done)),
    )
    counts = [len(i) for i in capture.iterations]
    assert seen == [(i, n) for i in range(2) for n in range(1, counts[i] + 1)]

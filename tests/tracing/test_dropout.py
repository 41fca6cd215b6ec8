"""Dropout saves a mask of one byte an element, as on a GPU, on every device (paper IV)."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from planezip.records import Trace
from planezip.tracing import capture_steps, trace_step
from planezip.tracing.dropout import FusedDropout, fused_dropout
from spy_codec import Spy

SHAPE = (8, 6, 4, 4)
ELEMENTS = 8 * 6 * 4 * 4
FUSED = "aten.native_dropout.default"


def traced(layer: Callable[[torch.Tensor], torch.Tensor], device: str = "cpu") -> Trace:
    """A trace of x * w -> layer -> sum, of which only the layer's own tensors vary."""
    with torch.device(device):
        scale = nn.Parameter(torch.ones(SHAPE))
        model = nn.ParameterList([scale])
        x = torch.ones(SHAPE)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    return trace_step(lambda x: layer(x * scale).square().sum(), model, sgd, (x,)).trace


def ops_of(trace: Trace) -> list[str]:
    return [op.name for op in trace.ops]


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    "layer",
    [
        nn.Dropout(0.3),
        lambda x: nn.functional.dropout(x, p=0.3),
        lambda x: torch.dropout(x, 0.3, True),
    ],
    ids=["module", "functional", "torch"],
)
def test_the_mask_has_one_byte_an_element_and_is_saved(layer, device: str) -> None:
    trace = traced(layer, device)
    assert FUSED in ops_of(trace)
    assert "aten.native_dropout_backward.default" in ops_of(trace)
    dropout = ops_of(trace).index(FUSED)
    saved = [trace.storages[s] for s in trace.saved]
    (mask,) = [s for s in saved if (s.producer, s.slot) == (dropout, 1)]
    assert (mask.dtype, mask.bytes) == ("bool", ELEMENTS)
    # The batch, the dropout's output (for the square) and the mask; of FP32 nothing else.
    assert trace.saved_bytes == 4 * ELEMENTS + 4 * ELEMENTS + ELEMENTS
    assert trace.saved == trace.saved_by_hooks


def test_both_devices_record_the_same() -> None:
    cpu, meta = (traced(nn.Dropout(0.3), device) for device in ("cpu", "meta"))
    assert cpu == meta


@pytest.mark.parametrize(
    "layer",
    [
        nn.Dropout(0.3, inplace=True),
        nn.Dropout(0.0),
        nn.Dropout(1.0),
        nn.Dropout(0.3).eval(),
        nn.Dropout2d(0.3),
        nn.AlphaDropout(0.3),
    ],
    ids=["in place", "p=0", "p=1", "eval", "channels", "alpha"],
)
def test_what_has_no_fused_kernel_stays_as_it_is(layer: nn.Module) -> None:
    assert FUSED not in ops_of(traced(layer))
    x = torch.randn(SHAPE)
    torch.manual_seed(5)
    expected = layer(x.clone())
    torch.manual_seed(5)
    with FusedDropout():
        assert torch.equal(layer(x.clone()), expected)


def test_a_wrong_probability_is_refused_as_ever() -> None:
    with FusedDropout(), pytest.raises(ValueError, match="between 0 and 1"):
        nn.functional.dropout(torch.ones(3), 1.5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_are_those_of_what_was_kept(dtype: torch.dtype) -> None:
    x = torch.randn(1000, dtype=dtype, requires_grad=True)
    with FusedDropout():
        y = nn.functional.dropout(x, 0.25)
    assert y.dtype == dtype
    kept = y.detach() != 0
    assert 0.65 < kept.float().mean() < 0.85
    scale = torch.tensor(1 / 0.75)
    torch.testing.assert_close(y[kept], x.detach()[kept] * scale.to(dtype))
    y.sum().backward()
    torch.testing.assert_close(x.grad, kept.to(dtype) * scale.to(dtype))


def test_a_capture_holds_the_mask_at_its_own_width() -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.1))
    capture = capture_steps(
        lambda x: model(x).square().mean(),
        model,
        torch.optim.SGD(model.parameters(), lr=0.1),
        [(torch.randn(16, 64),)],
        name="dropout",
        weights="random",
        data="noise",
        codec=Spy(),
    )
    (mask,) = [t for t in capture.iterations[0] if t.op_name == FUSED and t.slot == 1]
    assert (mask.dtype, mask.bytes) == ("bool", 16 * 64)
    assert mask.sizes["bf16"].raw_bytes == mask.sizes["fp32"].raw_bytes == 16 * 64


def with_a_penalty(layer: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The layer's output and its slope, which takes a backward pass within the forward pass."""

    def run(x: torch.Tensor) -> torch.Tensor:
        out = layer(x)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        return out + slope

    return run


def checkpointed(layer: nn.Module, reentrant: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: checkpoint(layer, x, use_reentrant=reentrant)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    "layer",
    [
        checkpointed(nn.Dropout(0.3), reentrant=True),
        checkpointed(nn.Dropout(0.3), reentrant=False),
        with_a_penalty(checkpointed(nn.Dropout(0.3), reentrant=False)),
    ],
    ids=["reentrant", "not reentrant", "twice differentiated"],
)
def test_what_a_checkpoint_computes_again_is_fused_too(layer, device: str) -> None:
    trace = traced(layer, device)
    names = ops_of(trace)
    assert names.count(FUSED) >= 2
    assert "aten.bernoulli_.float" not in names


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointed_dropout_is_captured_as_it_is_traced(reentrant: bool) -> None:
    """An encoder, whose recomputation is compared with what was saved tensor by tensor."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
    run = checkpointed(layer, reentrant)
    x = torch.randn(2, 4, 16)

    def sgd() -> torch.optim.Optimizer:
        return torch.optim.SGD(layer.parameters(), lr=0.1)

    def loss(x: torch.Tensor) -> torch.Tensor:
        return run(x.detach().requires_grad_()).square().mean()

    trace = trace_step(loss, layer, sgd(), (x,)).trace
    capture = capture_steps(
        loss,
        layer,
        sgd(),
        [(x,)] * 2,
        name="encoder",
        weights="random",
        data="noise",
        codec=Spy(),
    )
    assert capture.op_names == tuple(ops_of(trace))
    assert capture.notes == ()
    again = [op.name for op in trace.ops if op.phase == "backward"]
    assert again.count(FUSED) == ops_of(trace).count(FUSED) // 2 > 0


def test_the_engine_of_backward_passes_is_the_usual_one_afterwards() -> None:
    usual = torch.autograd.Variable._execution_engine
    with pytest.raises(ZeroDivisionError), fused_dropout():
        _ = 1 / 0
    assert torch.autograd.Variable._execution_engine is usual

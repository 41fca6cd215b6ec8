"""Torch's saved-tensor hooks confirm the saved activations, and leave no trace of their own."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from nets import SHAPES, loss_of, make
from planezip.records import Trace
from planezip.tracing import trace_step
from planezip.tracing.dropout import FusedDropout
from planezip.workloads import workload

Sgd = Callable[[nn.Module], torch.optim.Optimizer]


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    trainable = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.SGD(trainable, lr=0.1, foreach=False)


class PlainRecorder(TorchDispatchMode):
    """What a dispatch mode sees without any hooks."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace != "profiler":
            self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def plain_names(model: nn.Module, batch: tuple[torch.Tensor, ...]) -> list[str]:
    optimizer = sgd(model)
    with FusedDropout(), PlainRecorder() as mode:
        loss_of(model)(*batch).backward()
        optimizer.step()
    return mode.names


def traced(model: nn.Module, batch: tuple[torch.Tensor, ...]) -> Trace:
    return trace_step(loss_of(model), model, sgd(model), batch).trace


def resnet50(device: str = "meta") -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    chosen = workload("resnet50")
    with torch.device(device):
        return chosen.model(), chosen.placeholder(chosen.batch)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("net", SHAPES, ids=lambda net: net.__name__)
def test_hooks_confirm_the_saved_activations(net: type[nn.Module], device: str) -> None:
    trace = traced(*make(net, device))
    assert trace.saved == trace.saved_by_hooks
    assert len(trace.saved) > 2


@pytest.mark.parametrize("net", SHAPES, ids=lambda net: net.__name__)
def test_hooks_leave_no_trace(net: type[nn.Module]) -> None:
    names = [op.name for op in traced(*make(net)).ops]
    assert names == plain_names(*make(net))


def test_resnet50_at_its_training_batch() -> None:
    trace = traced(*resnet50())
    assert trace.saved == trace.saved_by_hooks
    assert trace.batch == 128
    assert trace.parameters == 25_557_032
    assert abs(len(trace.saved) - 216) <= 2
    assert trace.saved_bytes == pytest.approx(11.0e9, rel=0.01)
    assert len(trace.ops) == pytest.approx(896, rel=0.01)
    assert [op.name for op in trace.ops] == plain_names(*resnet50())


def test_a_view_in_backward_does_not_save() -> None:
    class OnlyLooksAt(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.held = x
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.held.view(-1).shape[0]

    w = nn.Linear(3, 3)
    x = torch.ones(2, 3)
    trace = trace_step(
        lambda x: OnlyLooksAt.apply(w(x)).sum(), w, torch.optim.SGD(w.parameters()), (x,)
    ).trace
    assert trace.saved == trace.saved_by_hooks
    assert [trace.storages[s].kind for s in trace.saved] == ["input"]


def test_what_is_read_in_backward_without_being_saved_counts() -> None:
    """Reads decide; hooks do not see what an autograd function keeps for itself."""

    class KeepsForItself(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.held = x
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.held

    w = nn.Linear(3, 3)
    trace = trace_step(
        lambda x: KeepsForItself.apply(w(x)).sum(),
        w,
        torch.optim.SGD(w.parameters()),
        (torch.ones(2, 3),),
    ).trace
    assert set(trace.saved) - set(trace.saved_by_hooks) == {
        s.id
        for s in trace.storages
        if s.producer >= 0 and trace.ops[s.producer].name.endswith("addmm.default")
    }


@pytest.mark.parametrize("net", SHAPES, ids=lambda net: net.__name__)
def test_tracing_does_not_change_the_training(net: type[nn.Module]) -> None:
    plain, batch = make(net)
    torch.manual_seed(1)
    expected = loss_of(plain)(*batch)
    expected.backward()
    sgd(plain).step()

    model, batch = make(net)
    torch.manual_seed(1)
    loss = trace_step(loss_of(model), model, sgd(model), batch).loss
    assert torch.equal(loss, expected.detach())
    for ours, theirs in zip(model.state_dict().values(), plain.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs)


def test_changing_in_place_what_backward_needs_is_still_an_error() -> None:
    """Hooks silence autograd's own check."""
    layer = nn.Linear(3, 3)
    with pytest.raises(RuntimeError, match="in-place"):
        trace_step(
            lambda x: layer(x).relu().add_(1.0).sum(),
            layer,
            torch.optim.SGD(layer.parameters()),
            (torch.ones(2, 3),),
        )

"""What only backward meets is no saved activation, in traces and in captures."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from planezip.records import Capture, Trace
from planezip.tracing import capture_steps, trace_step
from spy_codec import Spy


@dataclass
class Training:
    """A perceptron and what its user's training code adds to it."""

    model: nn.Module
    loss: Callable[..., torch.Tensor]
    extra: list[nn.Parameter] = field(default_factory=list)
    batch: tuple[torch.Tensor, ...] = ()

    def optimizer(self) -> torch.optim.Optimizer:
        trained = [*self.model.parameters(), *self.extra]
        return torch.optim.SGD(trained, lr=0.01, foreach=False)

    def traces(self, steps: int = 2) -> Iterator[Trace]:
        optimizer = self.optimizer()
        for _ in range(steps):
            yield trace_step(self.loss, self.model, optimizer, self.batch).trace

    def capture(self) -> Capture:
        return capture_steps(
            self.loss,
            self.model,
            self.optimizer(),
            [self.batch] * 3,
            name="net",
            weights="random",
            data="noise",
            codec=Spy(),
        )


def perceptron() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))


X = torch.linspace(-1, 1, 20).view(5, 4)
OUTSIDE = torch.full((5, 1), 0.5)


def plain() -> Training:
    model = perceptron()
    return Training(model, lambda x: model(x).square().mean(), batch=(X.clone(),))


def constants_in_parameter_hooks() -> Training:
    training = plain()
    for parameter in training.model.parameters():
        parameter.register_hook(lambda grad: grad / torch.tensor(2.0))
    return training


def an_outside_tensor_in_a_hook() -> Training:
    model = perceptron()

    def loss(x: torch.Tensor) -> torch.Tensor:
        out = model(x)
        out.register_hook(lambda grad: grad * OUTSIDE)
        return out.square().mean()

    return Training(model, loss, batch=(X.clone(),))


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * OUTSIDE


def an_outside_tensor_in_an_autograd_function() -> Training:
    model = perceptron()
    return Training(model, lambda x: Scaled.apply(model(x)).square().mean(), batch=(X.clone(),))


def _with_margin(trained: bool) -> Training:
    model, margin = perceptron(), nn.Parameter(torch.ones(5, 1))
    return Training(
        model,
        lambda x: (model(x) * margin).square().mean(),
        [margin] if trained else [],
        (X.clone(),),
    )


def a_loss_with_parameters() -> Training:
    return _with_margin(trained=True)


def a_loss_with_parameters_that_nobody_trains() -> Training:
    """Their gradients grow from iteration to iteration."""
    return _with_margin(trained=False)


def a_batch_that_keeps_its_gradient() -> Training:
    model = perceptron()
    return Training(model, lambda x: model(x).square().mean(), batch=(X.clone().requires_grad_(),))


def a_gradient_penalty() -> Training:
    model = perceptron()

    def loss(x: torch.Tensor) -> torch.Tensor:
        out = model(x).square().mean()
        (slope,) = torch.autograd.grad(out, x, create_graph=True)
        return out + slope.square().sum()

    return Training(model, loss, batch=(X.clone().requires_grad_(),))


def _checkpointed(use_reentrant: bool) -> Training:
    model = perceptron()

    def loss(x: torch.Tensor) -> torch.Tensor:
        hidden = checkpoint(model[:2], x, use_reentrant=use_reentrant)
        return model[2](hidden).square().mean()

    return Training(model, loss, batch=(X.clone().requires_grad_(),))


def reentrant_checkpointing() -> Training:
    return _checkpointed(True)


def checkpointing() -> Training:
    return _checkpointed(False)


def a_graph_that_nobody_runs_backward_through() -> Training:
    model = perceptron()

    def loss(x: torch.Tensor) -> torch.Tensor:
        out = model(x)
        (out.exp() * out).sum()  # a metric
        return F.softplus(out).mean()

    return Training(model, loss, batch=(X.clone(),))


def an_adversarial_example() -> Training:
    """The forward pass runs backward once itself and is done with what that needed."""
    model = perceptron()

    def loss(x: torch.Tensor) -> torch.Tensor:
        given = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(model(given).square().mean(), given)
        return model(x + 0.1 * slope.sign()).square().mean()

    return Training(model, loss, batch=(X.clone(),))


TRAININGS = [
    plain,
    constants_in_parameter_hooks,
    an_outside_tensor_in_a_hook,
    an_outside_tensor_in_an_autograd_function,
    a_loss_with_parameters,
    a_loss_with_parameters_that_nobody_trains,
    a_batch_that_keeps_its_gradient,
    a_gradient_penalty,
    reentrant_checkpointing,
    checkpointing,
    a_graph_that_nobody_runs_backward_through,
    an_adversarial_example,
]
every_training = pytest.mark.parametrize("make", TRAININGS, ids=lambda make: make.__name__)


@every_training
def test_hooks_confirm_what_is_saved(make: Callable[[], Training]) -> None:
    for trace in make().traces():
        assert trace.saved == trace.saved_by_hooks
        assert len(trace.saved) > 1


@every_training
def test_saved_is_what_forward_produced_or_was_given(make: Callable[[], Training]) -> None:
    for trace in make().traces():
        forward = trace.ops[: trace.forward_end]
        met = {s for op in forward for s in (*op.reads, *op.writes)}
        assert set(trace.saved) <= met


@every_training
def test_all_that_is_saved_is_captured(make: Callable[[], Training]) -> None:
    capture = make().capture()
    for captured, trace in zip(capture.iterations, make().traces(3), strict=True):
        expected = [(trace.storages[s].producer, trace.storages[s].slot) for s in trace.saved]
        assert [(t.op, t.slot) for t in captured] == expected


@pytest.mark.parametrize(
    "make", [an_outside_tensor_in_a_hook, an_outside_tensor_in_an_autograd_function]
)
def test_a_tensor_from_outside_that_only_backward_reads_is_a_buffer(
    make: Callable[[], Training],
) -> None:
    expected = [next(plain().traces(1)), next(make().traces(1))]
    buffers = [[s.bytes for s in t.storages if s.kind == "buffer"] for t in expected]
    inputs = [[s.bytes for s in t.storages if s.kind == "input"] for t in expected]
    assert buffers == [[], [OUTSIDE.nbytes]]
    assert inputs == [[X.nbytes]] * 2


def test_parameters_that_only_the_optimizer_knows_are_parameters() -> None:
    for trace in a_loss_with_parameters().traces():
        kinds = [s.kind for s in trace.storages]
        assert kinds.count("parameter") == kinds.count("parameter_gradient") == 5
        assert kinds.count("input") == 1
        assert trace.parameters == sum(p.numel() for p in perceptron().parameters()) + 5


def test_parameters_that_only_the_loss_knows_are_parameters_too() -> None:
    for trace in a_loss_with_parameters_that_nobody_trains().traces(3):
        kinds = [s.kind for s in trace.storages]
        assert kinds.count("parameter") == kinds.count("parameter_gradient") == 5
        assert kinds.count("input") == 1


def test_a_gradient_kept_from_the_iteration_before_is_no_activation() -> None:
    first, second = a_batch_that_keeps_its_gradient().traces()
    assert [s.kind for s in second.storages if s.kind in ("input", "buffer")] == ["input", "buffer"]
    assert second.saved_bytes == first.saved_bytes


def test_what_a_checkpoint_computes_again_is_not_saved() -> None:
    """The hidden layer's input is kept, its activations are not."""
    for make in (reentrant_checkpointing, checkpointing):
        trace = next(make().traces(1))
        before = next(plain().traces(1))
        assert "aten.tanh.default" in [op.name for op in trace.ops[trace.forward_end :]]
        assert len(trace.saved) <= len(before.saved)

"""What cannot be traced or captured is refused in one line that says what to do."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from nets import Residual, Views, loss_of, make
from planezip.errors import InputError
from planezip.tracing import capture_steps, trace_step
from spy_codec import Spy

X = torch.ones(2, 3)


def trace(**changed: object) -> None:
    layer = nn.Linear(3, 3)
    usual = {
        "compute_loss": lambda x, *others: layer(x).sum(),
        "model": layer,
        "optimizer": torch.optim.SGD(layer.parameters()),
        "batch": (X,),
    }
    trace_step(**(usual | changed))


def test_the_usual_arguments_are_accepted() -> None:
    trace()


@pytest.mark.parametrize(
    ("batch", "named"),
    [
        ((X, {"mask": X}), r"batch\[1\] is of type dict"),
        ((X, None), r"batch\[1\] is None"),
        (["text"], r"batch\[0\] is of type str"),
        ((X, (X, X)), r"batch\[1\] is of type tuple"),
        ((X, 3), r"batch\[1\] is of type int"),
        ({"x": X}, "the batch is of type dict"),
        (X, "the batch is of type Tensor"),
        (None, "the batch is None"),
        ("text", "the batch is of type str"),
        (iter([X]), "the batch is of type list_iterator"),
    ],
)
def test_a_batch_of_anything_but_tensors_is_refused(batch: object, named: str) -> None:
    with pytest.raises(InputError, match=named):
        trace(batch=batch)


@pytest.mark.parametrize(
    ("compute_loss", "named"),
    [
        (lambda x: 0.5, "of type float"),
        (lambda x: None, "None"),
        (lambda x: (x.sum(), x), "of type tuple"),
        (nn.Linear(3, 2), r"shape \(2, 2\)"),
        (lambda x: torch.ones(1, dtype=torch.int64), "int64"),
        (lambda x: torch.ones(1, dtype=torch.complex64, requires_grad=True), "complex64"),
        (lambda x: x.sum(), "requires a gradient"),
    ],
)
def test_a_loss_that_backward_cannot_start_from_is_refused(
    compute_loss: Callable[[torch.Tensor], object], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        trace(compute_loss=compute_loss)


def test_an_optimizer_that_needs_a_closure_is_refused() -> None:
    with pytest.raises(InputError, match="LBFGS needs a closure"):
        trace(optimizer=torch.optim.LBFGS(nn.Linear(3, 3).parameters()))


def test_optimizers_whose_closure_is_optional_are_accepted() -> None:
    layer = nn.Linear(3, 3)
    for kind in (torch.optim.SGD, torch.optim.AdamW, torch.optim.Rprop):
        trace(compute_loss=lambda x: layer(x).sum(), optimizer=kind(layer.parameters()))


def test_model_and_optimizer_are_checked() -> None:
    with pytest.raises(InputError, match="the model is of type function"):
        trace(model=make)
    with pytest.raises(InputError, match="the optimizer is None"):
        trace(optimizer=None)


def capture(net: type[nn.Module], model: nn.Module, batches: object) -> None:
    capture_steps(
        loss_of(model),
        model,
        torch.optim.SGD(model.parameters()),
        batches,
        name=net.__name__,
        weights="random",
        data="noise",
        codec=Spy(),
    )


@pytest.mark.parametrize("net", [Residual, Views])
def test_contents_off_the_cpu_cannot_be_captured(net: type[nn.Module]) -> None:
    model, batch = make(net, "meta")
    with pytest.raises(InputError, match=r"device meta; run .* on the CPU"):
        capture(net, model, [batch])
    with pytest.raises(InputError, match="device meta"):
        capture(net, make(net)[0], [batch])


def test_contents_of_fake_tensors_cannot_be_captured() -> None:
    with FakeTensorMode():
        model, batch = make(Residual)
    with pytest.raises(InputError, match="FakeTensor"):
        capture(Residual, model, [batch])


def test_contents_that_the_loss_takes_off_the_cpu_cannot_be_captured() -> None:
    layer = nn.Linear(3, 3)

    def loss(x: torch.Tensor) -> torch.Tensor:
        return layer(x).to("meta").exp().sum()

    with pytest.raises(InputError, match="device meta"):
        capture_steps(
            loss,
            layer,
            torch.optim.SGD(layer.parameters()),
            [(X,)],
            name="net",
            weights="random",
            data="noise",
            codec=Spy(),
        )


def test_one_batch_in_place_of_several_is_refused() -> None:
    model, batch = make(Residual)
    with pytest.raises(InputError, match="the batch is of type Tensor"):
        capture(Residual, model, batch)

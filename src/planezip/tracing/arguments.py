"""What a traced iteration can be made of, checked before it costs time (one line per mistake)."""

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from planezip.errors import InputError


def check_training(model: Any, optimizer: Any) -> None:
    """InputError unless these are a model and an optimizer that steps on its own."""
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"the model is {_kind(model)}; give a torch.nn.Module")
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise InputError(f"the optimizer is {_kind(optimizer)}; give a torch.optim.Optimizer")
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise InputError(
            f"the optimizer {type(optimizer).__name__} needs a closure and runs the model several "
            "times a step; trace with one that steps without, such as SGD or Adam"
        )


def check_batch(batch: Any) -> None:
    """InputError unless the batch is a sequence of tensors."""
    if isinstance(batch, str) or not isinstance(batch, Sequence):
        raise InputError(f"the batch is {_kind(batch)}; give a tuple or list of tensors")
    for index, item in enumerate(batch):
        if not isinstance(item, torch.Tensor):
            raise InputError(
                f"batch[{index}] is {_kind(item)}, not a tensor; let compute_loss take tensors "
                "alone and bring everything else along itself"
            )


def check_loss(loss: Any) -> None:
    """InputError unless backward can start from the loss."""
    if not isinstance(loss, torch.Tensor):
        raise InputError(f"what compute_loss returned is {_kind(loss)}; return a scalar tensor")
    if loss.numel() != 1 or not loss.is_floating_point():
        raise InputError(
            f"compute_loss returned a {loss.dtype} tensor of shape {tuple(loss.shape)}; "
            "return a scalar of a floating-point type, such as the mean"
        )
    if not loss.requires_grad:
        raise InputError(
            "the loss does not depend on anything that requires a gradient; compute it from "
            "trainable parameters, not under no_grad and not detached"
        )


def check_recorded(tensor: torch.Tensor, computed_here: bool) -> None:
    """InputError unless the operators that computed a tensor could be recorded."""
    if not computed_here:
        raise InputError(
            f"a tensor of shape {tuple(tensor.shape)} was computed where it cannot be "
            "recorded, such as in another thread or beforehand; compute it when and where "
            "compute_loss is called"
        )


def check_contents(tensors: Iterable[torch.Tensor]) -> None:
    """InputError unless all tensors hold numbers that the CPU can read."""
    for tensor in tensors:
        fake = isinstance(tensor, FakeTensor)
        if fake or tensor.device.type != "cpu":
            where = "is a FakeTensor" if fake else f"is on device {tensor.device}"
            raise InputError(
                f"cannot capture what a tensor of shape {tuple(tensor.shape)} holds, which "
                f"{where}; run the model and its batches on the CPU"
            )


def _kind(value: object) -> str:
    if inspect.iscoroutine(value):
        value.close()  # nobody will wait for it
    return "None" if value is None else f"of type {type(value).__name__}"

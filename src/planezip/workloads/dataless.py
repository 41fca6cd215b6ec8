"""Runs code on tensors that have shapes and types, but no contents."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode

from planezip.errors import InputError


@contextmanager
def dataless() -> Iterator[None]:
    """New tensors are fake in this context; they say that they are on the CPU.

    A model that is converted (`model.to(torch.bfloat16)`) or copied, as nn.TransformerEncoder
    copies its layers, works as one with contents does.
    """
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    disabled, logger.disabled = logger.disabled, True  # the error that it logs is told in one line
    usual = torch.utils.swap_tensors
    torch.utils.swap_tensors = _take_over
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), _CopiesAreClones():
            yield
    finally:
        torch.utils.swap_tensors = usual
        logger.disabled = disabled


def _take_over(parameter: torch.Tensor, converted: torch.Tensor) -> None:
    """What Module.to does with a parameter and its converted copy.

    torch exchanges the two objects of fake ones and refuses where anybody remembers them, as its
    own table of all fake tensors does. A real parameter takes over the data of the copy.
    """
    if parameter.device != converted.device:
        raise InputError(
            f"the model is moved to {converted.device}, but a trace is made on the CPU; leave that "
            "out, or hide the GPU from code that asks for one with CUDA_VISIBLE_DEVICES="
        )
    parameter.data = converted.detach()


class _CopiesAreClones(TorchFunctionMode):
    """Function mode under which copy.deepcopy of a fake tensor is a clone.

    torch copies its storage, which holds nothing; the copy's views would each have a storage of
    their own and count as new memory.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func is torch.Tensor.__deepcopy__ and isinstance(args[0], FakeTensor):
            return _clone(*args)
        return func(*args, **(kwargs or {}))


def _clone(tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    if id(tensor) in memo:
        known: torch.Tensor = memo[id(tensor)]
        return known
    if not tensor.is_leaf:
        raise RuntimeError("only tensors that nothing computed with gradients can be deep-copied")
    copy = tensor.detach().clone()
    if isinstance(tensor, torch.nn.Parameter):
        copy = torch.nn.Parameter(copy, tensor.requires_grad)
    memo[id(tensor)] = copy
    return copy.requires_grad_(tensor.requires_grad)

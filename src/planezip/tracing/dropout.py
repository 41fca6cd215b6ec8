"""Dropout as GPUs run it: one fused kernel that saves a mask of one byte an element (paper IV)."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd import Variable
from torch.overrides import TorchFunctionMode

_Engine = type(Variable._execution_engine)


@contextmanager
def fused_dropout() -> Iterator[None]:
    """Inside, dropout is fused: in what runs here, and in every backward pass begun here.

    A function mode is off while a function that it was shown runs, and `Tensor.backward` is such a
    function: what activation checkpointing computes again would see plain dropout.
    """
    usual = Variable._execution_engine
    Variable._execution_engine = _FusingEngine()
    try:
        with FusedDropout():
            yield
    finally:
        Variable._execution_engine = usual


class _FusingEngine(_Engine):  # type: ignore[misc,valid-type]
    """Autograd's engine, whose nodes run in the state that the thread had when it began."""

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        with FusedDropout():
            return super().run_backward(*args, **kwargs)


class FusedDropout(TorchFunctionMode):
    """Function mode under which dropout is `aten.native_dropout`, whatever the device.

    On a CPU, torch composes dropout of elementary operators, which save a mask in the element type
    of the input: four bytes an element in FP32 where a GPU saves one. The distribution is the same.

    What runs without the fused kernel on a GPU as well stays as it is: dropout in place, of whole
    channels (`dropout2d` and its like, whose masks are small) and of alpha kind, with a probability
    of 0 or 1, and outside training. So does dropout that torch runs inside another function of its
    own, such as attention or a recurrent layer.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.nn.functional.dropout:
            return _dropout(*args, **kwargs)
        if func is torch.dropout:
            return _plain_dropout(*args, **kwargs)
        return func(*args, **kwargs)


def _dropout(
    input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    if inplace:
        return torch.nn.functional.dropout(input, p, training, inplace)
    return _plain_dropout(input, p, training)


def _plain_dropout(input: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    if not train or not 0 < p < 1:
        return torch.nn.functional.dropout(input, p, train)
    return torch.native_dropout(input, p, train)[0]

"""Dropout as GPUs run it: one fused kernel that saves a mask of one byte an element (paper IV)."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


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

"""Torch tensors as flat bytes, and back; the only file of the codec that imports torch."""

import numpy as np
import torch
from numpy.typing import NDArray

from planezip.errors import InputError


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor detached; InputError if its elements are not in ordinary CPU memory."""
    if tensor.is_nested or tensor.layout != torch.strided:
        raise InputError("cannot compress a sparse or nested tensor; make it dense first")
    if tensor.is_quantized:
        raise InputError("cannot compress a quantized tensor; compress tensor.int_repr()")
    if tensor.device.type != "cpu":
        raise InputError(f"cannot compress a tensor on {tensor.device}; call .cpu() first")
    return tensor.detach()


def dtype_name(dtype: torch.dtype) -> str:
    """'bfloat16' for torch.bfloat16."""
    return str(dtype).removeprefix("torch.")


def flatten(tensor: torch.Tensor) -> tuple[NDArray[np.uint8], str]:
    """The tensor's bytes in row-major order and the name of its dtype.

    Raises:
        InputError: the tensor's elements are not in ordinary CPU memory.
    """
    plain = _plain(tensor)
    if plain.numel() == 0:
        return np.empty(0, np.uint8), dtype_name(plain.dtype)
    try:
        dense = plain.resolve_conj().resolve_neg().contiguous()
        flat = dense.reshape(-1).view(torch.uint8).numpy()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"cannot read a {type(tensor).__name__}: {reason}") from None
    return flat, dtype_name(plain.dtype)

"""Torch tensors as flat bytes, and back; the only file of the codec that imports torch."""

import re

import numpy as np
import torch
from numpy.typing import NDArray

from planezip.codec.adapter import Contents
from planezip.codec.engine import SLICE_BYTES
from planezip.errors import CorruptStreamError, InputError

Bytes = NDArray[np.uint8]

_DTYPES = {
    name: dtype
    for dtype in vars(torch).values()
    if type(dtype) is torch.dtype
    and not (name := str(dtype).removeprefix("torch.")).startswith(("qint", "quint"))
}


_SUB_BYTE = re.compile(r"torch\.(u?int[1-7]|bit)")

_HUGE_PAGES_FROM = 4 << 20
"""From this size on NumPy asks for huge pages, and torch does not: faulting small ones in takes
longer than decoding."""

_ALIGNMENT = 64  # of memory that torch allocates


def flatten(tensor: torch.Tensor) -> tuple[Bytes, str]:
    """The tensor's bytes in row-major order and the name of its dtype.

    Raises:
        InputError: the tensor's elements are not in ordinary CPU memory.
    """
    _check_plain(tensor)
    try:
        if tensor.is_conj() or tensor.is_neg() or not tensor.is_contiguous():
            copy = torch.empty(tensor.shape, dtype=tensor.dtype)
            _copy(copy, tensor.detach())
            tensor = copy
        return _bytes(tensor), str(tensor.dtype).removeprefix("torch.")
    except (RuntimeError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"cannot compress a {type(tensor).__name__}: {reason}") from None


def _copy(target: torch.Tensor, source: torch.Tensor) -> None:
    """Copied in pieces: Ctrl-C is answered between two."""
    if source.nbytes <= SLICE_BYTES or source.dim() == 0:
        target.copy_(source)
        return
    rows = max(1, SLICE_BYTES * len(source) // source.nbytes)
    for start in range(0, len(source), rows):
        if rows == 1:
            _copy(target[start], source[start])
        else:
            target[start : start + rows].copy_(source[start : start + rows])


def _check_plain(tensor: torch.Tensor) -> None:
    if tensor.is_nested or tensor.layout != torch.strided:
        raise InputError("cannot compress a sparse or nested tensor; make it dense first")
    if tensor.is_quantized:
        raise InputError("cannot compress a quantized tensor; compress tensor.int_repr()")
    if _SUB_BYTE.fullmatch(str(tensor.dtype)):
        raise InputError(f"cannot compress a tensor of {tensor.dtype}; its elements are no bytes")
    if tensor.device.type != "cpu":
        raise InputError(f"cannot compress a tensor on device {tensor.device}; call .cpu() first")


def _bytes(tensor: torch.Tensor) -> Bytes:
    """The memory of a contiguous tensor."""
    if tensor.numel() == 0:
        return np.empty(0, np.uint8)
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.dim() != 1:
        tensor = tensor.reshape(-1)
    return tensor.view(torch.uint8).numpy()


def item_bytes(name: str) -> int:
    """Bytes of an element; CorruptStreamError if torch knows no such dtype."""
    if name not in _DTYPES:
        raise CorruptStreamError(f"the preamble names an unknown element type {name!r}")
    return _DTYPES[name].itemsize


def empty(contents: Contents) -> tuple[Bytes, torch.Tensor]:
    """A new tensor's memory, and the tensor."""
    dtype = _DTYPES[contents.dtype]
    if contents.byte_length < _HUGE_PAGES_FROM:
        tensor = torch.empty(contents.shape, dtype=dtype, device="cpu")
        return _bytes(tensor), tensor
    memory = np.empty(contents.byte_length + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    flat = memory[start : start + contents.byte_length]
    return flat, torch.from_numpy(flat).view(dtype).reshape(contents.shape)


def matches(contents: Contents, out: torch.Tensor) -> bool:
    """True if `out` has the dtype and shape of the contents."""
    return out.dtype == _DTYPES[contents.dtype] and tuple(out.shape) == contents.shape


def writable(out: torch.Tensor) -> Bytes | None:
    """The memory of `out`, or None if decoding straight into it would not be right."""
    try:
        _check_plain(out)
    except InputError:
        return None
    plain = out.is_contiguous() and not (out.is_conj() or out.is_neg() or out.requires_grad)
    if not plain:
        return None
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)  # autograd must see that it is overwritten
    return _bytes(out)

"""Torch tensors as flat bytes, and back; the only file of the codec that imports torch."""

import ctypes
import re
from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from planezip.codec.adapter import Contents
from planezip.codec.engine import SLICE_BYTES
from planezip.codec.preamble import SMALL_BYTES
from planezip.errors import CorruptStreamError, InputError

Bytes = NDArray[np.uint8]

_NO_PLAIN_BYTES = re.compile(r"u?int[1-7]|bit|q.*")

_NAMES = {
    dtype: name
    for dtype in vars(torch).values()
    if type(dtype) is torch.dtype
    and not _NO_PLAIN_BYTES.fullmatch(name := str(dtype).removeprefix("torch."))
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}

_ALIGNMENT = 64  # of memory that torch allocates

_PIECE_BYTES = SLICE_BYTES // 64


def flatten(tensor: torch.Tensor) -> tuple[Bytes, Contents]:
    """The tensor's bytes in row-major order, shared if it is contiguous, and what they are.

    Raises:
        InputError: the tensor's elements are not in ordinary CPU memory, or not all of them are.
    """
    _check_plain(tensor)
    contents = _contents(tensor.dtype, tensor.shape)
    try:
        if tensor.is_conj() or tensor.is_neg() or not tensor.is_contiguous():
            _check_extent(tensor)
            copy = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
            _copy(copy, tensor.detach())
            tensor = copy
        return _bytes(tensor), contents
    except (RuntimeError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"cannot compress a {type(tensor).__name__}: {reason}") from None


@lru_cache(256)  # programs compress the same shapes over and over
def _contents(dtype: torch.dtype, shape: torch.Size) -> Contents:
    contents = Contents("torch", _NAMES[dtype], tuple(shape), shape.numel() * dtype.itemsize)
    if not contents.shape_is_possible(dtype.itemsize):
        raise InputError("cannot compress a tensor of so many dimensions or so large ones")
    return contents


def _copy(target: torch.Tensor, source: torch.Tensor) -> None:
    """Copied in pieces so small that Ctrl-C is soon answered, even if every element is far away."""
    if source.nbytes <= _PIECE_BYTES or source.dim() == 0:
        target.copy_(source)
        return
    rows = max(1, _PIECE_BYTES * len(source) // source.nbytes)
    for start in range(0, len(source), rows):
        if rows == 1:
            _copy(target[start], source[start])
        else:
            target[start : start + rows].copy_(source[start : start + rows])


def _check_plain(tensor: torch.Tensor) -> None:
    if tensor.layout is not torch.strided or tensor.is_nested:
        raise InputError("cannot compress a sparse or nested tensor; make it dense first")
    if tensor.dtype not in _NAMES:
        if tensor.is_quantized:
            raise InputError("cannot compress a quantized tensor; compress tensor.int_repr()")
        raise InputError(f"cannot compress a tensor of {tensor.dtype}; its elements are no bytes")
    if not tensor.is_cpu:
        raise InputError(f"cannot compress a tensor on device {tensor.device}; call .cpu() first")


def _bytes(tensor: torch.Tensor) -> Bytes:
    """The memory of a contiguous tensor, kept alive.

    Not that of tensor.numpy(), after which torch could not resize the tensor's storage any more.

    Raises:
        RuntimeError: it has none.
        InputError: its storage was shrunk since, and ends before its elements do.
    """
    size = tensor.nbytes
    if size == 0:
        return np.empty(0, np.uint8)
    storage = tensor.untyped_storage()
    if type(tensor) is not torch.Tensor and storage.device.type != "cpu":
        raise RuntimeError("its elements are nowhere")
    address = tensor.data_ptr()
    if address == 0:
        raise RuntimeError("it has no memory of its own")
    if address + size > storage.data_ptr() + storage.nbytes():
        raise _shrunk(storage)
    memory = _span(size.bit_length()).from_address(address)
    memory.tensor = tensor
    return np.frombuffer(memory, np.uint8, size)


def _check_extent(tensor: torch.Tensor) -> None:
    """InputError unless the storage holds all elements: torch would copy what lies behind it."""
    storage = tensor.untyped_storage()
    if storage.device.type != "cpu" or tensor.numel() == 0:
        return  # a subclass, which copies in a way of its own; nothing
    last = sum((dim - 1) * step for dim, step in zip(tensor.shape, tensor.stride(), strict=True))
    end = (tensor.storage_offset() + last + 1) * tensor.itemsize
    if end > storage.nbytes():
        raise _shrunk(storage)


def _shrunk(storage: torch.UntypedStorage) -> InputError:
    size = storage.nbytes()
    return InputError(
        f"the tensor's storage has {size} bytes and ends before its elements do; resize it first"
    )


@cache
def _span(bits: int) -> Any:
    """The type of memory of so many bytes, in bits, or less: one for every size would cost time."""
    return ctypes.c_ubyte * (1 << bits)


def item_bytes(name: str) -> int:
    """Bytes of an element; CorruptStreamError if torch knows no such dtype."""
    if name not in _DTYPES:
        raise CorruptStreamError(f"the preamble names an unknown element type {name!r}")
    return _DTYPES[name].itemsize


def empty(contents: Contents) -> tuple[Bytes, torch.Tensor]:
    """A new tensor's memory, and the tensor."""
    dtype, shape = _DTYPES[contents.dtype], contents.shape
    flat = _new_memory(contents.byte_length)
    if not contents.byte_length:
        return flat, torch.empty(shape, dtype=dtype, device="cpu")
    tensor = torch.frombuffer(flat, dtype=dtype)
    return flat, tensor if len(shape) == 1 else tensor.view(*shape or [()])


def _new_memory(size: int) -> Bytes:
    """NumPy's, aligned as torch's would be unless that took longer than the decoding.

    NumPy asks for huge pages, and torch does not: faulting small ones in takes longer, too.
    """
    if size <= SMALL_BYTES:
        return np.empty(size, np.uint8)
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size]


def matches(contents: Contents, out: torch.Tensor) -> bool:
    """True if `out` has the dtype and shape of the contents."""
    return out.dtype == _DTYPES[contents.dtype] and tuple(out.shape) == contents.shape


def writable(out: torch.Tensor) -> Bytes | None:
    """The memory of `out`, or None if decoding straight into it would not be right.

    Raises:
        InputError: its storage ends before its elements do.
    """
    try:
        _check_plain(out)
    except InputError:
        return None
    plain = out.is_contiguous() and not (out.is_conj() or out.is_neg() or out.requires_grad)
    if not plain:
        return None
    try:
        flat = _bytes(out)
    except RuntimeError:
        return None
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)  # autograd must see that it is overwritten
    return flat

"""Arrays, tensors and bytes-like objects as flat bytes, and back.

Torch is never imported from here: an object can only be a tensor if torch is loaded already.
"""

import math
import re
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planezip.codec.engine import SLICE_BYTES
from planezip.codec.format import MAX_DIMENSIONS, MAX_SPREAD, SymbolBits
from planezip.errors import InputError

Family = Literal["bytes", "numpy", "torch"]


HALVES: Final = frozenset({"<f2", ">f2", "float16", "bfloat16"})
"""Names of two-byte floating-point types: NumPy's two, torch's two."""

DTYPE: Final = re.compile(r"[<>|][?biufcmMSUV]\d{1,10}(\[[0-9A-Za-z]{1,12}\])?")
"""What a NumPy element type is called in a stream: its size, of at most 2^31 - 1, and a unit."""


class Contents(NamedTuple):
    """What a stream says of its contents.

    Attributes:
        family: what kind of object they are: bytes, a NumPy array, a torch tensor.
        dtype: numpy's `dtype.str`, torch's name without "torch."; empty for bytes.
        shape: sizes of the dimensions; empty for bytes.
        byte_length: bytes of the contents.
    """

    family: Family
    dtype: str
    shape: tuple[int, ...]
    byte_length: int

    @property
    def symbol_bits(self) -> SymbolBits:
        """Symbol width by element type: 16 for two-byte floats, 32 for all else (paper III-A)."""
        return 16 if self.dtype in HALVES else 32

    def shape_is_possible(self, item_bytes: int) -> bool:
        """False if no array could have this shape, even if it has no elements."""
        spread = math.prod(dim for dim in self.shape if dim) * max(item_bytes, 1)
        return len(self.shape) <= MAX_DIMENSIONS and spread < MAX_SPREAD


@cache
def tensors() -> ModuleType:
    """The module for torch tensors; ImportError if there is no torch."""
    return import_module("planezip.codec.tensors")


def is_tensor(x: object) -> bool:
    """True if x is a torch tensor."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(x, getattr(torch, "Tensor", ()))


def flatten(x: Any) -> tuple[NDArray[np.uint8], Contents]:
    """The bytes of x in row-major order, shared with x where it is contiguous; never written.

    Raises:
        InputError: x is of a type that cannot be compressed.
    """
    flatten_kind = _FLATTEN.get(type(x))
    if flatten_kind is None:
        flatten_kind = _flatten_other
        if is_tensor(x):
            flatten_kind = _FLATTEN[type(x)] = tensors().flatten
    return flatten_kind(x)


def _flatten_other(x: Any) -> tuple[NDArray[np.uint8], Contents]:
    if isinstance(x, np.ma.MaskedArray):
        raise InputError("cannot compress a masked array; compress its .data and its .mask")
    if isinstance(x, (np.ndarray, np.generic)):
        return _flatten_array(np.asarray(x))
    if hasattr(x, "__dlpack__"):
        return _flatten_dlpack(x)
    return _flatten_buffer(x)


def _flatten_buffer(x: Any) -> tuple[NDArray[np.uint8], Contents]:
    flat = byte_view(x, "compress")
    return flat, Contents("bytes", "", (), flat.nbytes)


def holds_objects(view: memoryview) -> bool:
    """True if elements are, or contain, pointers to Python objects."""
    return "O" in view.format


def byte_view(x: Any, verb: str) -> NDArray[np.uint8]:
    """The bytes of a bytes-like object, copied only if it is not contiguous.

    Raises:
        InputError: x is something else; the message says that one cannot `verb` it.
    """
    if type(x) is bytes and x:
        return np.frombuffer(x, np.uint8)
    try:
        view = memoryview(x)
    except TypeError:
        kinds = "a NumPy array, a CPU torch tensor or " if verb == "compress" else ""
        raise InputError(
            f"cannot {verb} an object of type {type(x).__name__}; give {kinds}a bytes-like object"
        ) from None
    if holds_objects(view):
        raise InputError(f"cannot {verb} a buffer of Python objects; give one of plain elements")
    if view.nbytes == 0:
        return np.empty(0, np.uint8)
    return np.frombuffer(view, np.uint8) if view.c_contiguous else _gathered(view)


def _gathered(view: memoryview) -> NDArray[np.uint8]:
    """The bytes of a buffer with gaps, copied in pieces if NumPy knows its elements."""
    try:
        array = np.asarray(view)
        if array.shape == view.shape and array.itemsize == view.itemsize:
            return _contiguous_copy(array).reshape(-1).view(np.uint8)
    except (TypeError, ValueError):
        pass
    return np.frombuffer(view.tobytes(), np.uint8)


def _flatten_dlpack(x: Any) -> tuple[NDArray[np.uint8], Contents]:
    """Another library's array, its memory shared: NumPy's, or torch's if NumPy has no such type."""
    try:
        array = np.from_dlpack(x)
    except _NO_DLPACK as error:
        reason = str(error).partition("\n")[0].rstrip(".")
    else:
        return _flatten_array(array)
    torch: Any = sys.modules.get("torch")
    if torch is None:
        remedy = "import torch first, which knows more types"
        raise InputError(f"cannot compress a {type(x).__name__}: {reason}; {remedy}")
    try:
        tensor = torch.from_dlpack(x)
    except _NO_DLPACK:
        raise InputError(f"cannot compress a {type(x).__name__}: {reason}") from None
    return flatten(tensor)


def _flatten_array(array: np.ndarray[Any, Any]) -> tuple[NDArray[np.uint8], Contents]:
    dtype = array.dtype
    unit = dtype.str if dtype.kind in "mM" else None  # units can be equal by another name
    contents = _array_contents(dtype, array.shape, unit)
    size = contents.byte_length
    if size == 0:
        return np.empty(0, np.uint8), contents
    if not array.flags.c_contiguous:
        array = _contiguous_copy(array) if size > SLICE_BYTES else np.ascontiguousarray(array)
    return (array if array.ndim == 1 else array.reshape(-1)).view(np.uint8), contents


_NO_DLPACK = (BufferError, RuntimeError, TypeError, ValueError)
"""What libraries raise if they cannot read one another's arrays."""

_FLATTEN: dict[type, Callable[[Any], tuple[NDArray[np.uint8], Contents]]] = {
    np.ndarray: _flatten_array,
    bytes: _flatten_buffer,
}
"""By the exact type, so that what is compressed most is not asked what else it might be."""


@lru_cache(256)  # programs compress the same shapes over and over
def _array_contents(dtype: np.dtype[Any], shape: tuple[int, ...], _: str | None) -> Contents:
    check_dtype(dtype)
    contents = Contents("numpy", dtype.str, shape, math.prod(shape) * dtype.itemsize)
    if not contents.shape_is_possible(dtype.itemsize):
        raise InputError("cannot compress an array of such large dimensions")
    return contents


def _contiguous_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Copied in pieces: Ctrl-C is answered between two."""
    copy = np.empty(array.shape, array.dtype)
    pieces = np.nditer(
        [array, copy],
        ["external_loop", "buffered"],
        [["readonly"], ["writeonly"]],
        order="C",
        buffersize=max(1, SLICE_BYTES // 16 // array.itemsize),
    )
    with pieces:
        for source, target in pieces:
            target[...] = source
    return copy


def check_dtype(dtype: np.dtype[Any]) -> None:
    """InputError unless elements of this type are plain bytes that `dtype.str` describes."""
    if dtype.hasobject or dtype.kind == "T":
        raise InputError(f"cannot compress an array of dtype {dtype}: its elements are pointers")
    if dtype.names is not None:
        raise InputError(f"cannot compress an array of dtype {dtype}; compress each of its fields")
    if not DTYPE.fullmatch(dtype.str) or np.dtype(dtype.str) != dtype:
        raise InputError(
            f"cannot compress an array of dtype {dtype}: it is not one of NumPy's own; "
            "view it as unsigned integers"
        )

"""Where decoded contents go: a new object like the one compressed, or the caller's own."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planezip.codec.adapter import (
    DTYPE,
    Contents,
    check_dtype,
    holds_objects,
    is_tensor,
    tensors,
)
from planezip.errors import CorruptStreamError, InputError

Bytes = NDArray[np.uint8]


def check_shape(contents: Contents) -> None:
    """CorruptStreamError unless element type, shape and byte length agree and are possible."""
    if contents.family == "bytes":
        possible = contents.dtype == "" and contents.shape == ()
    else:
        size = item_bytes(contents)
        length = math.prod(contents.shape) * size
        possible = contents.shape_is_possible(size) and length == contents.byte_length
    if not possible:
        raise CorruptStreamError("element type, shape and length in the preamble do not agree")


def item_bytes(contents: Contents) -> int:
    """Bytes of an element; CorruptStreamError if its type is unknown."""
    if contents.family == "bytes":
        return 1
    if contents.family == "torch":
        size: int = _tensors().item_bytes(contents.dtype)
        return size
    return numpy_dtype(contents.dtype).itemsize


@lru_cache(256)
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype whose `.str` is `name`; CorruptStreamError if there is none."""
    try:
        if DTYPE.fullmatch(name):
            dtype: np.dtype[Any] = np.dtype(name)
            check_dtype(dtype)
            if dtype.str == name:
                return dtype
    except (TypeError, ValueError, OverflowError):
        pass
    raise CorruptStreamError(f"the preamble names an unknown element type {name!r}")


def new_contents(contents: Contents) -> tuple[Bytes, Any]:
    """New memory for an array or a tensor as flat bytes, and the object that it belongs to."""
    if contents.family == "torch":
        pair: tuple[Bytes, Any] = _tensors().empty(contents)
        return pair
    return _empty_array(contents)


def _empty_array(contents: Contents) -> tuple[Bytes, Any]:
    dtype = numpy_dtype(contents.dtype)
    if contents.byte_length == 0:  # np.empty would give elements of no bytes a size
        flat = np.empty(0, np.uint8)
        return flat, np.ndarray(contents.shape, dtype, flat)
    array = np.empty(contents.shape, dtype)
    return (array if array.ndim == 1 else array.reshape(-1)).view(np.uint8), array


def own_contents(contents: Contents, out: Any) -> Bytes:
    """The memory of the caller's object as flat bytes.

    Raises:
        InputError: `out` is not writable, contiguous, and of the contents' kind, type and shape.
    """
    flat: Bytes | None
    if contents.family == "torch":
        matches = is_tensor(out) and _tensors().matches(contents, out)
        flat = _tensors().writable(out) if matches else None
    elif contents.family == "numpy":
        matches = (
            isinstance(out, np.ndarray)
            and out.dtype == numpy_dtype(contents.dtype)
            and out.shape == contents.shape
        )
        flat = _writable_array(out) if matches else None
    else:
        flat = _writable_buffer(out)
        matches = flat is None or flat.nbytes == contents.byte_length
    if not matches:
        raise InputError(f"out must be {_wanted(contents)}, as the stream holds")
    if flat is None:
        raise InputError("out must be writable, contiguous and in ordinary memory")
    return flat


def output_memory(out: Any, size_bytes: int) -> Bytes:
    """The memory of the caller's object, for `size_bytes` or more that are no contents.

    Raises:
        InputError: `out` is not writable, contiguous and so large.
    """
    if is_tensor(out):
        flat = _tensors().writable(out)
    elif isinstance(out, np.ndarray):
        flat = _writable_array(out)
    else:
        flat = _writable_buffer(out)
    if flat is None:
        raise InputError("out must be writable, contiguous and in ordinary memory, no pointers")
    if flat.nbytes < size_bytes:
        raise InputError(f"out has {flat.nbytes} bytes; compress_bound() asks for {size_bytes}")
    memory: Bytes = flat
    return memory


def _wanted(contents: Contents) -> str:
    if contents.family == "bytes":
        return f"a bytes-like object of {contents.byte_length} bytes"
    kind = "NumPy array" if contents.family == "numpy" else "torch tensor"
    return f"a {kind} of dtype {contents.dtype} and shape {contents.shape}"


def _writable_array(out: np.ndarray[Any, Any]) -> Bytes | None:
    plain = not isinstance(out, np.ma.MaskedArray) and not _points(out.dtype)
    if not (plain and out.flags.c_contiguous and out.flags.writeable):
        return None
    if out.nbytes == 0:
        return np.empty(0, np.uint8)
    return np.asarray(out).reshape(-1).view(np.uint8)


def _points(dtype: np.dtype[Any]) -> bool:
    """True if elements are, or contain, pointers."""
    return dtype.hasobject or dtype.kind == "T"


def _writable_buffer(out: Any) -> Bytes | None:
    try:
        view = memoryview(out)
    except TypeError:
        return None
    if view.readonly or not view.c_contiguous or holds_objects(view):
        return None
    return np.frombuffer(view, np.uint8) if view.nbytes else np.empty(0, np.uint8)


def _tensors() -> Any:
    try:
        return tensors()
    except ImportError:
        raise InputError("the stream holds a torch tensor; install torch to restore it") from None

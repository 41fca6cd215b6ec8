"""Safetensors files: the header read here, so that tensors of any size are memory-mapped; files
written by the safetensors library.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from planezip.codec.archives.manifest import byte_count
from planezip.errors import CorruptStreamError, InputError

Bytes = NDArray[np.uint8]

DTYPES: Final[dict[str, tuple[str, int]]] = {
    "BOOL": ("bool", 8),
    "U8": ("uint8", 8),
    "I8": ("int8", 8),
    "F8_E4M3": ("float8_e4m3fn", 8),
    "F8_E4M3FNUZ": ("float8_e4m3fnuz", 8),
    "F8_E5M2": ("float8_e5m2", 8),
    "F8_E5M2FNUZ": ("float8_e5m2fnuz", 8),
    "F8_E8M0": ("float8_e8m0fnu", 8),
    "F4": ("float4_e2m1fn_x2", 4),
    "I16": ("int16", 16),
    "U16": ("uint16", 16),
    "F16": ("float16", 16),
    "BF16": ("bfloat16", 16),
    "I32": ("int32", 32),
    "U32": ("uint32", 32),
    "F32": ("float32", 32),
    "C64": ("complex64", 64),
    "F64": ("float64", 64),
    "I64": ("int64", 64),
    "U64": ("uint64", 64),
}
"""Element type in files -> the library's name for it, and bits of an element."""

_METADATA = "__metadata__"
_MAX_HEADER_BYTES = 100_000_000  # the library reads no more


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a file: element type, shape, and bytes in row-major order."""

    dtype: str
    shape: tuple[int, ...]
    data: Bytes


class _Header(msgspec.Struct):
    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def parse(file: Bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors, views, and the metadata of a safetensors file.

    Raises:
        CorruptStreamError: it is none, or its header contradicts itself.
    """
    size = int.from_bytes(file[:8].tobytes(), "little")
    if file.nbytes < 8 or size > min(file.nbytes - 8, _MAX_HEADER_BYTES):
        raise CorruptStreamError("not a safetensors file: its header is not whole")
    body = file[8 + size :]
    try:
        header = msgspec.json.decode(file[8 : 8 + size].tobytes(), type=dict[str, msgspec.Raw])
        metadata = msgspec.json.decode(header.pop(_METADATA, b"null"), type=dict[str, str] | None)
        entries = {name: msgspec.json.decode(raw, type=_Header) for name, raw in header.items()}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptStreamError(f"not a safetensors file: {error}") from None
    return {name: _tensor(name, entry, body) for name, entry in entries.items()}, metadata or {}


def _tensor(name: str, entry: _Header, body: Bytes) -> Tensor:
    begin, end = entry.data_offsets
    if entry.dtype not in DTYPES:
        raise CorruptStreamError(f"tensor {name!r} has an unknown element type {entry.dtype!r}")
    if not 0 <= begin <= end <= body.nbytes:
        raise CorruptStreamError(f"tensor {name!r} lies outside the file")
    if byte_count(entry.shape, DTYPES[entry.dtype][1]) != end - begin:
        raise CorruptStreamError(f"tensor {name!r} has another size than its shape says")
    return Tensor(entry.dtype, entry.shape, body[begin:end])


def write(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Write a safetensors file. The library reads the tensors' bytes where they are.

    Raises:
        InputError: the library refuses.
    """
    from safetensors import SafetensorError, TensorSpec, serialize_file

    def spec(tensor: Tensor) -> Any:
        data = tensor.data
        return TensorSpec(
            dtype=DTYPES[tensor.dtype][0],
            shape=_library_shape(tensor),
            data_ptr=data.ctypes.data,
            data_len=data.nbytes,
        )

    try:
        specs = {name: spec(tensor) for name, tensor in tensors.items()}
        serialize_file(specs, path, metadata=metadata or None)
    except SafetensorError as error:
        raise InputError(f"cannot write {path.name} as safetensors: {error}") from None


def _library_shape(tensor: Tensor) -> list[int]:
    """The shape as the library wants it: of 4-bit elements, it counts pairs."""
    shape = list(tensor.shape)
    if tensor.dtype == "F4":
        if not shape or shape[-1] % 2:
            raise InputError(f"cannot write 4-bit elements in rows of odd length: {tensor.shape}")
        shape[-1] //= 2
    return shape

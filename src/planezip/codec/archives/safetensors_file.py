"""Safetensors files, read without the library: tensors of any size stay in the file."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec

from planezip.codec.archives.manifest import Metadata, byte_count
from planezip.codec.archives.region import Region
from planezip.codec.format import SymbolBits
from planezip.errors import CorruptStreamError

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

Kind = tuple[str, tuple[int, ...]]
"""Element type and shape."""

_METADATA = "__metadata__"
MAX_HEADER_BYTES = 100_000_000  # the library reads no more


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a file: element type, shape, and bytes in row-major order."""

    dtype: str
    shape: tuple[int, ...]
    data: Region

    @property
    def symbol_bits(self) -> SymbolBits:
        """As for tensors in memory."""
        return 16 if self.dtype in ("BF16", "F16") else 32


_Size = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class _Header(msgspec.Struct):
    dtype: str
    shape: tuple[_Size, ...]
    data_offsets: tuple[int, int]


def parse(file: Region) -> tuple[dict[str, Tensor], Metadata]:
    """The tensors and the metadata of a safetensors file.

    Raises:
        CorruptStreamError: it is none, its header contradicts itself or says something twice, or
            a byte belongs to no tensor or to several.
    """
    size = int.from_bytes(file[:8].tobytes(), "little")
    if file.nbytes < 8 or size > min(file.nbytes - 8, MAX_HEADER_BYTES):
        raise CorruptStreamError("not a safetensors file: its header is not whole")
    body = file[8 + size :]
    try:
        text = file[8 : 8 + size].tobytes()
        header = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        metadata = msgspec.json.decode(header.pop(_METADATA, b"null"), type=Metadata)
        entries = {name: msgspec.json.decode(raw, type=_Header) for name, raw in header.items()}
        json.loads(text, object_pairs_hook=_check_keys)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise CorruptStreamError(f"not a safetensors file: {error}") from None
    _check_layout(entries, body.nbytes)
    return {name: _tensor(name, entry, body) for name, entry in entries.items()}, metadata


def _check_keys(pairs: list[tuple[str, Any]]) -> None:
    """ValueError if a JSON object has a key twice: decoders keep one of them and drop the other."""
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise ValueError(f"its header has {key!r} twice")
        seen.add(key)


def _check_layout(entries: dict[str, _Header], size: int) -> None:
    """CorruptStreamError unless the tensors lie one behind the other and fill the file."""
    at = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
        begin, end = entry.data_offsets
        if not 0 <= begin <= end <= size:
            raise CorruptStreamError(f"tensor {name!r} lies outside the file")
        if begin != at:
            fault = "overlaps the tensor before it" if begin < at else "has a hole before it"
            raise CorruptStreamError(f"tensor {name!r} {fault}")
        at = end
    if at != size:
        raise CorruptStreamError(f"{size - at} bytes behind the last tensor belong to none")


def _tensor(name: str, entry: _Header, body: Region) -> Tensor:
    begin, end = entry.data_offsets
    if checked_bytes(name, entry.dtype, entry.shape) != end - begin:
        raise CorruptStreamError(f"tensor {name!r} has another size than its shape says")
    return Tensor(entry.dtype, entry.shape, body[begin:end])


def checked_bytes(name: str, dtype: str, shape: tuple[int, ...]) -> int:
    """Bytes of a tensor; CorruptStreamError if there is none of that type and shape."""
    if dtype not in DTYPES:
        raise CorruptStreamError(f"tensor {name!r} has an unknown element type {dtype!r}")
    return byte_count(shape, DTYPES[dtype][1])

"""Safetensors files: the header read here, so that tensors of any size are memory-mapped; files
written by the safetensors library.
"""

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from planezip.codec.archives.manifest import Metadata, byte_count
from planezip.codec.archives.region import Bytes, Region
from planezip.codec.archives.settings import Progress
from planezip.codec.format import SymbolBits
from planezip.codec.interruptible import interruptible
from planezip.errors import CorruptStreamError, InputError

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
_MAX_HEADER_BYTES = 100_000_000  # the library reads no more


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
    if file.nbytes < 8 or size > min(file.nbytes - 8, _MAX_HEADER_BYTES):
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


def write(
    path: Path,
    kinds: dict[str, Kind],
    data: Iterable[Bytes],
    metadata: Metadata,
    progress: Progress,
) -> None:
    """Write a safetensors file, the only one in its folder. The library reads the tensors' bytes
    where they are.

    Args:
        path: where; the library has a temporary file beside it.
        kinds: name -> element type and shape.
        data: the bytes of each.
        metadata: may be empty or none at all.
        progress: shown of the bytes on disk.

    Raises:
        InputError: the library refuses.
        OSError: the file cannot be written.
    """
    from safetensors import SafetensorError, serialize_file

    parts = list(data)  # the library is given addresses: this keeps the memory
    specs = {
        name: _spec(name, kind, part)
        for (name, kind), part in zip(kinds.items(), parts, strict=True)
    }
    # Of no tensors and empty metadata the library makes a file that is none.
    about = metadata or (metadata if kinds else None)
    done = 0
    with progress(sum(part.nbytes for part in parts), writing=True) as advance:

        def watch() -> None:
            nonlocal done
            size = _bytes_in(path.parent)
            advance(size - done)
            done = size

        def call() -> list[Bytes]:
            serialize_file(specs, path, metadata=about)
            return parts

        try:
            interruptible(call, watch)
        except SafetensorError as error:
            raise _refusal(error) from None
        watch()


def check_writable(tensors: dict[str, Tensor]) -> None:
    """InputError if the library could not write tensors that are read here."""
    for name, tensor in tensors.items():
        _library_shape(name, tensor.dtype, tensor.shape)


def _refusal(error: Exception) -> Exception:
    """What to raise of an error of the library: an OSError if it is one of the system."""
    number = re.search(r"\(os error (\d+)\)", str(error))
    if number:
        return OSError(int(number[1]), os.strerror(int(number[1])))
    if "header too large" in str(error):
        return InputError(
            f"the names of so many tensors take more than the {_MAX_HEADER_BYTES:,} bytes "
            "that a safetensors header may have; compress the file as one stream, -o FILE.pz"
        )
    return InputError(f"the safetensors library refuses: {error}")


def _bytes_in(folder: Path) -> int:
    size = 0
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # the library renames its file
            size += path.stat().st_size
    return size


def _spec(name: str, kind: Kind, data: Bytes) -> Any:
    from safetensors import TensorSpec

    dtype, shape = kind
    return TensorSpec(
        dtype=DTYPES[dtype][0],
        shape=_library_shape(name, dtype, shape),
        data_ptr=data.ctypes.data,
        data_len=data.nbytes,
    )


def _library_shape(name: str, dtype: str, shape: tuple[int, ...]) -> list[int]:
    """The shape as the library wants it: of 4-bit elements, it counts pairs."""
    if dtype != "F4":
        return list(shape)
    if not shape or shape[-1] % 2:
        raise InputError(
            f"tensor {name!r} has 4-bit elements in rows of odd length, which the safetensors "
            "library cannot write; compress the file as one stream, -o FILE.pz"
        )
    return [*shape[:-1], shape[-1] // 2]

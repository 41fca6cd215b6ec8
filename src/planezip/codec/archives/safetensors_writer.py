"""Safetensors files, written by the safetensors library."""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from planezip.codec.archives.manifest import Metadata
from planezip.codec.archives.region import Bytes
from planezip.codec.archives.safetensors_file import DTYPES, MAX_HEADER_BYTES, Kind, Tensor
from planezip.codec.archives.settings import Progress
from planezip.codec.interruptible import interruptible
from planezip.errors import InputError

_NOTHING = b'{"__metadata__":{}}     '  # a header of no tensors and empty metadata, of 8 n bytes
_BLOCK_BYTES = 512  # of os.stat, whatever the file system has


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
    if not kinds and metadata == {}:  # of these the library makes a file that is none
        path.write_bytes(len(_NOTHING).to_bytes(8, "little") + _NOTHING)
        return
    done = 0
    with progress(sum(part.nbytes for part in parts), writing=True) as advance:

        def watch() -> None:
            nonlocal done
            size = _bytes_in(path.parent)
            advance(size - done)
            done = size

        def call() -> list[Bytes]:
            serialize_file(specs, path, metadata=metadata)
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
            f"the names of so many tensors take more than the {MAX_HEADER_BYTES:,} bytes "
            "that a safetensors header may have; compress the file as one stream, -o FILE.pz"
        )
    return InputError(f"the safetensors library refuses: {error}")


def _bytes_in(folder: Path) -> int:
    """Bytes on disk of the files in a folder; their sizes the library sets before it writes."""
    size = 0
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # the library renames its file
            size += path.stat().st_blocks * _BLOCK_BYTES
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

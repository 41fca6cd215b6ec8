"""What an archive says of the tensors that it holds compressed, as JSON."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

import msgspec
import xxhash

from planezip.errors import CorruptStreamError, InputError

KEY = "planezip"
"""Where an archive keeps its manifest: key of the metadata, or name of the member."""

_MAX_BITS = (1 << 64) - 1


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tensor as it was before it was compressed.

    Attributes:
        dtype: element type in the words of the file's format; empty if it was kept as plain bytes.
        shape: sizes of the dimensions; of plain bytes, their number.
        xxh3_64: XXH3-64, seed 0, of its bytes in the file, 16 hexadecimal digits.
        fortran_order: of a .npy file, that its first dimension is the innermost.
        deflated: of a member of an .npz file, that it was deflated.
    """

    dtype: str
    shape: tuple[int, ...]
    xxh3_64: str
    fortran_order: bool = False
    deflated: bool = False


Entries = dict[str, Entry]
Metadata = dict[str, str] | None


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every tensor of an archive by name.

    Attributes:
        tensors: name -> the tensor.
        has_metadata: of a safetensors file, that it has metadata, even if they are empty.
        xxh3_64: XXH3-64, seed 0, of the JSON of the list of `tensors` and the original's metadata
            (null if it has none), with sorted keys and without white space.
        version: of the manifest.
    """

    tensors: Entries
    has_metadata: bool
    xxh3_64: str
    version: Literal[1] = 1


def to_json(tensors: Entries, metadata: Metadata = None) -> bytes:
    """The manifest of a file of these tensors and metadata, UTF-8 JSON."""
    seal = _seal(tensors, metadata)
    return msgspec.json.encode(Manifest(tensors, metadata is not None, seal))


def from_json(
    data: bytes | str, names: Iterable[str], metadata: dict[str, str] | None = None
) -> tuple[Entries, Metadata]:
    """The tensors and the metadata of the original.

    Args:
        data: the manifest.
        names: the tensors that the archive has.
        metadata: those that the archive has beside the manifest.

    Raises:
        CorruptStreamError: the manifest is not valid, or not of these tensors and metadata.
    """
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptStreamError(f"the archive's manifest is damaged: {error}") from None
    if set(manifest.tensors) != set(names):
        raise CorruptStreamError(
            "the archive's manifest and its tensors do not have the same names"
        )
    original = metadata or ({} if manifest.has_metadata else None)
    if _seal(manifest.tensors, original) != manifest.xxh3_64:
        raise CorruptStreamError("the archive's manifest or metadata are damaged: the hash differs")
    return manifest.tensors, original


def _seal(tensors: Entries, metadata: Metadata) -> str:
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode([tensors, metadata], order="sorted"))


def refuse_archives(source: Path, read: Callable[[], object]) -> None:
    """InputError if `read` finds a valid manifest in the source: it is an archive already."""
    try:
        read()
    except CorruptStreamError:
        return
    raise InputError(f"{source} is a PlaneZip archive already; it would not become smaller")


def byte_count(shape: Iterable[int], item_bits: int) -> int:
    """Bytes of a tensor; CorruptStreamError if none has that shape.

    Sizes whose product, from the outermost on, reaches 2^64 bits are impossible, as in the
    safetensors library, even if a size of 0 follows.
    """
    bits = 1
    for size in (*shape, item_bits):
        bits *= size
        if size < 0 or bits > _MAX_BITS:
            raise CorruptStreamError("no tensor has the shape that the file says")
    if bits % 8:
        raise CorruptStreamError(
            "no tensor has the shape that the file says: its last byte is not full"
        )
    return bits // 8

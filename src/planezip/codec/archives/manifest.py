"""What an archive says of the tensors that it holds compressed, as JSON."""

import math
from collections.abc import Iterable
from typing import Literal

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from planezip.codec.engine import slices
from planezip.errors import CorruptStreamError

Bytes = NDArray[np.uint8]

KEY = "planezip"
"""Where an archive keeps its manifest: key of the metadata, or name of the member."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every tensor of an archive by name."""

    tensors: dict[str, Entry]
    version: Literal[1] = 1


def to_json(manifest: Manifest) -> bytes:
    """The manifest as UTF-8 JSON."""
    return msgspec.json.encode(manifest)


def from_json(data: bytes | str, names: Iterable[str]) -> Manifest:
    """Read a manifest; CorruptStreamError unless it is valid and of tensors of these names."""
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptStreamError(f"the archive's manifest is damaged: {error}") from None
    if set(manifest.tensors) != set(names):
        raise CorruptStreamError(
            "the archive's manifest and its tensors do not have the same names"
        )
    return manifest


class RawHash:
    """The hash of a tensor's bytes, given piece by piece."""

    def __init__(self) -> None:
        self._state = xxhash.xxh3_64()

    def update(self, data: Bytes) -> "RawHash":
        for part in slices(data):
            self._state.update(part.data)
        return self

    def hexdigest(self) -> str:
        return self._state.hexdigest()


def byte_count(shape: Iterable[int], item_bits: int) -> int:
    """Bytes of a tensor; CorruptStreamError if none has that shape."""
    sizes = tuple(shape)
    bits = math.prod(sizes) * item_bits
    if any(size < 0 for size in sizes) or bits % 8:
        raise CorruptStreamError(f"a tensor cannot have the shape {sizes}")
    return bits // 8

"""The preamble of a stream: what is needed to restore the contents, under one checksum.

Byte layout in docs/format.md, "Preamble". The checksum covers every other byte of the stream, so
any damage at all is found before anything is decoded.
"""

import struct
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64, xxh3_64_intdigest

from planezip.codec.adapter import Contents
from planezip.codec.engine import slices
from planezip.codec.format import (
    CODECS,
    FAMILIES,
    MAGIC,
    VERSION,
    SymbolBits,
)
from planezip.codec.restore import check_shape
from planezip.errors import CorruptStreamError

Bytes = NDArray[np.uint8]

_FIXED = struct.Struct("<3sBBBBBQ")  # magic, version, codec, symbol bits, family, ndim, length
_PARTS = struct.Struct(f"<{_FIXED.size}sQB")  # these, checksum, length of the element type's name
_NDIM = 7
_CHECKSUM = struct.Struct("<Q")
CHECKSUM = slice(_FIXED.size, _FIXED.size + _CHECKSUM.size)
"""Where in a stream its checksum is."""

SMALL_BYTES = 1 << 16
"""Copying so little is quicker than working in place."""

_BEGINNING = MAGIC + bytes([VERSION])
_BAD_CHECKSUM = "the checksum does not match: the stream is damaged or truncated"

MAX_BYTES = CHECKSUM.stop + 1 + 255 + 8 * 255
"""Bytes of the longest preamble that a stream can announce; 64 dimensions are allowed."""


class Preamble(NamedTuple):
    """What a stream holds, the number of its codec, and the width of its symbols."""

    contents: Contents
    codec: int
    symbol_bits: SymbolBits


@lru_cache(256)  # programs compress the same shapes over and over
def pack(codec: int, symbol_bits: SymbolBits, contents: Contents) -> bytes:
    """The bytes of a preamble, those of the checksum zero; `codec` is the number of one."""
    fixed = _FIXED.pack(
        MAGIC,
        VERSION,
        codec,
        symbol_bits,
        FAMILIES.index(contents.family),
        len(contents.shape),
        contents.byte_length,
    )
    dtype = contents.dtype.encode("ascii")
    dims = struct.pack(f"<{len(contents.shape)}Q", *contents.shape)
    return b"".join((fixed, bytes(_CHECKSUM.size), bytes([len(dtype)]), dtype, dims))


def join(preamble: bytes, chunks: bytes) -> bytes:
    """The stream of a packed preamble and few chunks."""
    fixed, rest = preamble[: CHECKSUM.start], preamble[CHECKSUM.stop :] + chunks
    return fixed + _CHECKSUM.pack(xxh3_64_intdigest(fixed + rest)) + rest


class Checksum:
    """The checksum of a stream that is written piece by piece, the whole preamble first."""

    def __init__(self, preamble: bytes) -> None:
        self._state = xxh3_64(preamble[: CHECKSUM.start])
        self._state.update(preamble[CHECKSUM.stop :])

    def update(self, chunks: Bytes) -> None:
        for part in slices(chunks):
            self._state.update(part.data)

    def sum(self) -> int:
        """The number so far."""
        return int(self._state.intdigest())

    def digest(self) -> bytes:
        """The bytes that belong at CHECKSUM."""
        return _CHECKSUM.pack(self.sum())


def split(stream: Bytes, verify: bool = True) -> tuple[Preamble, Bytes]:
    """The preamble, checked, and the chunk stream, a view.

    Args:
        stream: the whole stream.
        verify: compare its checksum.

    Raises:
        CorruptStreamError: the stream is damaged, or no PlaneZip stream of a version known here.
    """
    if stream.nbytes <= SMALL_BYTES:
        head, start = read(stream.tobytes(), verify)
        return head, stream[start:]
    fixed, checksum, size, rest = _parts(stream[:MAX_BYTES].tobytes())
    if verify and checksum != _digest(fixed, stream):
        raise CorruptStreamError(_BAD_CHECKSUM)
    return _unpack(fixed, rest[:size]), stream[CHECKSUM.stop + size :]


def read(stream: bytes, verify: bool = True) -> tuple[Preamble, int]:
    """The preamble of a small stream, checked, and where its chunks begin; as split()."""
    fixed, checksum, size, rest = _parts(stream)
    if verify and checksum != xxh3_64_intdigest(fixed + rest):
        raise CorruptStreamError(_BAD_CHECKSUM)
    return _unpack(fixed, rest[:size]), CHECKSUM.stop + size


def _parts(front: bytes) -> tuple[bytes, int, int, bytes]:
    """What is before the checksum; the checksum; bytes behind it that are preamble; these and on.

    Nothing is checked but that they are there, and the version.
    """
    if not front.startswith(_BEGINNING) or len(front) <= CHECKSUM.stop:
        raise CorruptStreamError(_bad_beginning(front))
    fixed, checksum, name_bytes = _PARTS.unpack_from(front)
    return fixed, checksum, 1 + name_bytes + 8 * fixed[_NDIM], front[CHECKSUM.stop :]


def _bad_beginning(front: bytes) -> str:
    if not front.startswith(MAGIC):
        return "not a PlaneZip stream"
    if len(front) <= CHECKSUM.stop:
        return "the stream ends inside its preamble"
    return f"format version {front[len(MAGIC)]}; only version {VERSION} is known"


def _digest(fixed: bytes, stream: Bytes) -> int:
    checksum = Checksum(fixed)
    checksum.update(stream[CHECKSUM.stop :])
    return checksum.sum()


@lru_cache(256)  # programs restore the same shapes over and over
def _unpack(fixed: bytes, rest: bytes) -> Preamble:
    """Read what stands before the checksum, and what stands behind it."""
    _, _, codec, symbol_bits, family, ndim, byte_length = _FIXED.unpack(fixed)
    if codec >= len(CODECS) or symbol_bits not in (16, 32) or family >= len(FAMILIES):
        raise CorruptStreamError("the preamble holds a reserved value")
    dims_begin = 1 + rest[0]
    if len(rest) < dims_begin + 8 * ndim:
        raise CorruptStreamError("the stream ends inside its preamble")
    dtype = rest[1:dims_begin]
    if not dtype.isascii():
        raise CorruptStreamError("the name of the element type is not ASCII")
    shape = struct.unpack(f"<{ndim}Q", rest[dims_begin:])
    contents = Contents(FAMILIES[family], dtype.decode("ascii"), shape, byte_length)
    check_shape(contents)
    return Preamble(contents, codec, symbol_bits)

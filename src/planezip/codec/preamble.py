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
    CodecName,
    SymbolBits,
)
from planezip.codec.restore import check_shape
from planezip.errors import CorruptStreamError

Bytes = NDArray[np.uint8]

_FIXED = struct.Struct("<3sBBBBBQ")  # magic, version, codec, symbol bits, family, ndim, length
_NDIM = 7
_CHECKSUM = struct.Struct("<Q")
CHECKSUM = slice(_FIXED.size, _FIXED.size + _CHECKSUM.size)
"""Where in a stream its checksum is."""

SMALL_BYTES = 1 << 16
"""Copying so little is quicker than working in place."""

MAX_BYTES = CHECKSUM.stop + 1 + 255 + 8 * 255
"""Bytes of the longest preamble that a stream can announce; 64 dimensions are allowed."""


class Preamble(NamedTuple):
    """How the chunk stream was coded, and what it holds."""

    codec: CodecName
    symbol_bits: SymbolBits
    contents: Contents


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

    def digest(self) -> bytes:
        """The bytes that belong at CHECKSUM."""
        return _CHECKSUM.pack(self._state.intdigest())


def _digest(fixed: bytes, rest: Bytes) -> bytes:
    if rest.nbytes <= SMALL_BYTES:
        return _CHECKSUM.pack(xxh3_64_intdigest(fixed + rest.tobytes()))
    checksum = Checksum(fixed)
    checksum.update(rest)
    return checksum.digest()


def split(stream: Bytes, verify: bool = True) -> tuple[Preamble, Bytes]:
    """The preamble, checked, and the chunk stream, a view.

    Args:
        stream: the whole stream.
        verify: compare its checksum.

    Raises:
        CorruptStreamError: the stream is damaged, or no PlaneZip stream of a version known here.
    """
    front = stream[:MAX_BYTES].tobytes()
    fixed, checksum, rest = front[: _FIXED.size], front[CHECKSUM], front[CHECKSUM.stop :]
    if fixed[:3] != MAGIC:
        raise CorruptStreamError("not a PlaneZip stream")
    if not rest:
        raise CorruptStreamError("the stream ends inside its preamble")
    if fixed[3] != VERSION:
        raise CorruptStreamError(f"format version {fixed[3]}; only version {VERSION} is known")
    if verify and checksum != _digest(fixed, stream[CHECKSUM.stop :]):
        raise CorruptStreamError("the checksum does not match: the stream is damaged or truncated")
    size = 1 + rest[0] + 8 * fixed[_NDIM]
    return _unpack(fixed, rest[:size]), stream[CHECKSUM.stop + size :]


@lru_cache(256)  # programs restore the same shapes over and over
def _unpack(head: bytes, rest: bytes) -> Preamble:
    """Read what stands before the checksum, and what stands behind it."""
    _, _, codec, symbol_bits, family, ndim, byte_length = _FIXED.unpack(head)
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
    return Preamble(CODECS[codec], symbol_bits, contents)

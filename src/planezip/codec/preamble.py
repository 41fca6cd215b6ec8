"""The preamble of a stream: what is needed to restore the contents, under one checksum.

Byte layout in docs/format.md, "Preamble". The checksum covers every other byte of the stream, so
any damage at all is found before anything is decoded.
"""

import struct
from dataclasses import dataclass

import numpy as np
import xxhash
from numpy.typing import NDArray

from planezip.codec.adapter import Contents
from planezip.codec.engine import slices
from planezip.codec.format import (
    CODECS,
    FAMILIES,
    MAGIC,
    MAX_DIMENSIONS,
    VERSION,
    CodecName,
    SymbolBits,
)
from planezip.errors import CorruptStreamError

Bytes = NDArray[np.uint8]

_FIXED = struct.Struct("<3sBBBBBQ")  # magic, version, codec, symbol bits, family, ndim, length
_CHECKSUM = struct.Struct("<Q")
CHECKSUM = slice(_FIXED.size, _FIXED.size + _CHECKSUM.size)
"""Where in a stream its checksum is."""

MAX_BYTES = CHECKSUM.stop + 1 + 255 + 8 * MAX_DIMENSIONS
"""Bytes of the longest preamble."""


@dataclass(frozen=True, slots=True)
class Preamble:
    """How the chunk stream was coded, and what it holds."""

    codec: CodecName
    symbol_bits: SymbolBits
    contents: Contents


def pack(preamble: Preamble) -> bytes:
    """The preamble's bytes, those of the checksum zero."""
    contents = preamble.contents
    fixed = _FIXED.pack(
        MAGIC,
        VERSION,
        CODECS.index(preamble.codec),
        preamble.symbol_bits,
        FAMILIES.index(contents.family),
        len(contents.shape),
        contents.byte_length,
    )
    dtype = contents.dtype.encode("ascii")
    dims = struct.pack(f"<{len(contents.shape)}Q", *contents.shape)
    return b"".join((fixed, bytes(_CHECKSUM.size), bytes([len(dtype)]), dtype, dims))


class Checksum:
    """The checksum of a stream that is written piece by piece, the whole preamble first."""

    def __init__(self, preamble: bytes) -> None:
        self._state = xxhash.xxh3_64(preamble[: CHECKSUM.start])
        self._state.update(preamble[CHECKSUM.stop :])

    def update(self, chunks: Bytes) -> None:
        for part in slices(chunks):
            self._state.update(part.data)

    def digest(self) -> bytes:
        """The bytes that belong at CHECKSUM."""
        return _CHECKSUM.pack(self._state.intdigest())


def split(stream: Bytes, verify: bool = True) -> tuple[Preamble, Bytes]:
    """The preamble and the chunk stream, a view.

    Args:
        stream: the whole stream.
        verify: compare its checksum.

    Raises:
        CorruptStreamError: the stream is damaged, or no PlaneZip stream of a version known here.
    """
    head = stream[: CHECKSUM.start].tobytes()
    if head[:3] != MAGIC:
        raise CorruptStreamError("not a PlaneZip stream")
    if len(head) < CHECKSUM.start or stream.nbytes <= CHECKSUM.stop:
        raise CorruptStreamError("the stream ends inside its preamble")
    if head[3] != VERSION:
        raise CorruptStreamError(f"format version {head[3]}; only version {VERSION} is known")
    rest = stream[CHECKSUM.stop :]
    if verify:
        checksum = Checksum(head)
        checksum.update(rest)
        if stream[CHECKSUM].tobytes() != checksum.digest():
            raise CorruptStreamError(
                "the checksum does not match: the stream is damaged or truncated"
            )
    return _unpack(head, rest)


def _unpack(head: bytes, rest: Bytes) -> tuple[Preamble, Bytes]:
    _, _, codec, symbol_bits, family, ndim, byte_length = _FIXED.unpack(head)
    if codec >= len(CODECS) or symbol_bits not in (16, 32) or family >= len(FAMILIES):
        raise CorruptStreamError("the preamble holds a reserved value")
    dims_begin = 1 + int(rest[0])
    dims_end = dims_begin + 8 * ndim
    if rest.nbytes < dims_end:
        raise CorruptStreamError("the stream ends inside its preamble")
    dtype = rest[1:dims_begin].tobytes()
    if not dtype.isascii():
        raise CorruptStreamError("the name of the element type is not ASCII")
    shape = struct.unpack(f"<{ndim}Q", rest[dims_begin:dims_end].tobytes())
    contents = Contents(FAMILIES[family], dtype.decode("ascii"), shape, byte_length)
    return Preamble(CODECS[codec], symbol_bits, contents), rest[dims_end:]

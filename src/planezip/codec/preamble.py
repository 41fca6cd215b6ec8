"""The preamble of a stream: what is needed to restore the contents, under one checksum.

Byte layout in docs/format.md, "Preamble". The checksum covers every other byte of the stream, so
any damage at all is found before anything is decoded.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import xxhash
from numpy.typing import NDArray

from planezip.codec.adapter import Contents
from planezip.codec.format import CODECS, FAMILIES, MAGIC, VERSION, CodecName, SymbolBits
from planezip.errors import CorruptStreamError

Bytes = NDArray[np.uint8]

_FIXED = struct.Struct("<3sBBBBBQ")  # magic, version, codec, symbol bits, family, ndim, length
_CHECKSUM = struct.Struct("<Q")
_CHECKSUM_END = _FIXED.size + _CHECKSUM.size


@dataclass(frozen=True, slots=True)
class Preamble:
    """How the chunk stream was coded, and what it holds."""

    codec: CodecName
    symbol_bits: SymbolBits
    contents: Contents


def join(preamble: Preamble, chunks: Bytes) -> bytes:
    """The whole stream: preamble, then chunks."""
    fixed, rest = _pack(preamble)
    return b"".join((fixed, _checksum((fixed, rest, chunks.data)), rest, chunks.data))


def split(stream: Bytes) -> tuple[Preamble, Bytes]:
    """The preamble and the chunk stream, a view.

    Raises:
        CorruptStreamError: the stream is damaged, or no PlaneZip stream of a version known here.
    """
    head = stream[: _FIXED.size].tobytes()
    if head[:3] != MAGIC:
        raise CorruptStreamError("not a PlaneZip stream")
    if len(head) < _FIXED.size or stream.nbytes <= _CHECKSUM_END:
        raise CorruptStreamError("the stream ends inside its preamble")
    if head[3] != VERSION:
        raise CorruptStreamError(f"format version {head[3]}; only version {VERSION} is known")
    rest = stream[_CHECKSUM_END:]
    if stream[_FIXED.size : _CHECKSUM_END].tobytes() != _checksum((head, rest.data)):
        raise CorruptStreamError("the checksum does not match: the stream is damaged or truncated")
    return _unpack(head, rest)


def _checksum(parts: Iterable[bytes | memoryview]) -> bytes:
    state = xxhash.xxh3_64()
    for part in parts:
        state.update(part)
    return _CHECKSUM.pack(state.intdigest())


def _pack(preamble: Preamble) -> tuple[bytes, bytes]:
    """What stands before the checksum, and what stands behind it."""
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
    return fixed, bytes([len(dtype)]) + dtype + dims


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

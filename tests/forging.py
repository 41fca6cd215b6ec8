"""Streams that no writer makes, with the checksum that they should have."""

import struct

import pytest
import xxhash

import planezip
from planezip import CorruptStreamError
from planezip.codec import CODECS, describe

CHECKSUM = slice(16, 24)


def sealed(stream: bytes) -> bytes:
    """The stream with the checksum that it should have."""
    digest = xxhash.xxh3_64(stream[: CHECKSUM.start] + stream[CHECKSUM.stop :]).intdigest()
    return stream[: CHECKSUM.start] + struct.pack("<Q", digest) + stream[CHECKSUM.stop :]


def forged(chunks: bytes, length: int, codec: str = "planezip", symbol_bits: int = 16) -> bytes:
    """A stream of bytes with these chunks."""
    head = struct.pack("<4s4BQQB", b"PLZ\x01", CODECS.index(codec), symbol_bits, 0, 0, length, 0, 0)
    return sealed(head + chunks)


def refused(stream: bytes, why: str | None = None) -> None:
    for read in (planezip.decompress, describe):
        with pytest.raises(CorruptStreamError, match=why):
            read(stream)

"""Streams written to and read from files slice by slice, in memory that does not grow with them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from planezip import _native
from planezip.codec import adapter, engine
from planezip.codec.adapter import Contents
from planezip.codec.api import opened, prepare
from planezip.codec.engine import Coding
from planezip.codec.preamble import CHECKSUM, Checksum

Bytes = NDArray[np.uint8]

STEP_BYTES = 4 << 20
"""What is written to or read from a file in one call of the system."""

Advance = Callable[[int], None]
"""Called with the bytes of contents that were done since it was called last."""


def write_stream(
    file: BinaryIO,
    x: Any,
    codec: str = "planezip",
    symbol_bits: int | None = None,
    threads: int | None = None,
    advance: Advance | None = None,
) -> int:
    """Write what compress() would return at the position of a seekable file; return its size.

    x and its options are those of compress(). A memory-mapped x is read as it is needed.
    """
    flat, head, how = prepare(x, codec, symbol_bits, threads)
    return write_slices(file, head, how, engine.slices(flat), advance)


def write_slices(
    file: BinaryIO,
    head: bytes,
    how: Coding,
    slices: Iterable[Bytes],
    advance: Advance | None = None,
) -> int:
    """Write the stream of contents that come in slices, under a packed preamble; return its size.

    All slices but the last have engine.SLICE_BYTES; one may lie in memory that the next overwrites.
    """
    start = file.tell()
    file.write(head)
    checksum = Checksum(head)
    out = np.empty(0, np.uint8)
    for part in slices:
        if not out.nbytes:
            out = np.empty(_native.encode_bound(part.nbytes), np.uint8)
        piece = out[: engine.encode_into(part, how, out)]
        checksum.update(piece)
        write_bytes(file, piece)
        if advance:
            advance(part.nbytes)
    end = file.tell()
    file.seek(start + CHECKSUM.start)
    file.write(checksum.digest())
    file.seek(end)
    return end - start


def write_bytes(file: BinaryIO, data: Bytes) -> None:
    """Write in steps so small that Ctrl-C is answered soon, however slow the disk is."""
    for part in engine.slices(data, STEP_BYTES):
        file.write(part.data)


def read_stream(stream: Any, threads: int | None = None) -> tuple[Contents, Iterator[Bytes]]:
    """What a stream holds, and its contents in pieces, each overwritten by the next.

    The checksum is compared before anything is returned; iterating raises CorruptStreamError if a
    chunk was forged.

    Raises:
        CorruptStreamError: the stream is damaged, truncated, or not a PlaneZip stream.
        InputError: an argument cannot be used.
    """
    contents, chunks, how = opened(adapter.byte_view(stream, "decompress"), threads)
    return contents, engine.decode_slices(chunks, how, contents.byte_length)

"""The native engine, called on one slice of the contents after the other.

Between two slices Python looks for signals, so that Ctrl-C is answered at once however large the
contents are; and whoever writes the slices out needs no memory for the whole. A slice is a row of
whole chunks, and chunks are coded independently: the chunk streams of the slices, joined, are that
of the contents.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planezip import _native
from planezip.codec.format import CHUNK_BYTES
from planezip.errors import CorruptStreamError

Bytes = NDArray[np.uint8]

SLICE_BYTES = 1 << 26
"""Contents of a slice, whole chunks: a fraction of a second's work, and enough for many threads."""


class Coding(NamedTuple):
    """Number of the codec in streams, width of its symbols, threads at most."""

    codec: int
    symbol_bits: int
    threads: int


def slices(flat: Bytes, slice_bytes: int | None = None) -> Iterator[Bytes]:
    """The bytes in order, SLICE_BYTES at a time; nothing of nothing."""
    step = slice_bytes or SLICE_BYTES
    return (flat[start : start + step] for start in range(0, flat.nbytes, step))


def encode(flat: Bytes, codec: int, symbol_bits: int, threads: int) -> Bytes:
    """The chunk stream of flat bytes under the codec of that number.

    NumPy allocates the memory because it asks for huge pages; faulting small ones in takes long
    beside the encoding.
    """
    out = np.empty(_native.encode_bound(flat.nbytes), np.uint8)
    return out[: encode_into(flat, Coding(codec, symbol_bits, threads), out)]


def encode_into(flat: Bytes, how: Coding, out: Bytes) -> int:
    """Write the chunk stream of flat bytes to `out`; return its size.

    `out` has `_native.encode_bound(flat.nbytes)` bytes: that leaves enough for every
    slice behind the longest streams of those before it.
    """
    if flat.nbytes <= SLICE_BYTES:
        return _native.encode(flat, how.codec, how.symbol_bits, how.threads, out)
    size = 0
    for part in slices(flat):
        size += _native.encode(part, how.codec, how.symbol_bits, how.threads, out[size:])
    return size


def span(chunks: Bytes, size_bytes: int) -> int:
    """Bytes that the chunks of so many bytes of contents, all or whole chunks, take in front."""
    return _native.span_chunks(chunks, size_bytes)


def check_chunks(chunks: Bytes, size_bytes: int) -> None:
    """CorruptStreamError unless the chunks' headers fit contents of so many bytes exactly."""
    while size_bytes > SLICE_BYTES:
        chunks = chunks[span(chunks, SLICE_BYTES) :]
        size_bytes -= SLICE_BYTES
    _native.check_chunks(chunks, size_bytes)


def decode(chunks: Bytes, how: Coding, out: Bytes, start: int = 0) -> None:
    """Fill `out` from the chunks of all of it, which check_chunks() or span() has passed.

    `start` is where in the contents `out` begins, for messages.

    Raises:
        CorruptStreamError: a chunk is bad.
    """
    for part, piece in zip(slices(out), chunk_slices(chunks, out.nbytes), strict=True):
        decode_slice(piece, how, part, start)
        start += part.nbytes


def decode_slices(chunks: Bytes, how: Coding, size_bytes: int) -> Iterator[Bytes]:
    """The contents in pieces, each in memory that the next one overwrites."""
    out = np.empty(min(size_bytes, SLICE_BYTES), np.uint8)
    start = 0
    for piece in chunk_slices(chunks, size_bytes):
        part = out[: size_bytes - start]
        decode_slice(piece, how, part, start)
        yield part
        start += part.nbytes


def decode_slice(chunks: Bytes, how: Coding, out: Bytes, start: int) -> None:
    """Fill `out` from the chunks of a slice that begins at byte `start` of the contents."""
    try:
        _native.decode(chunks, how.codec, how.symbol_bits, how.threads, out)
    except CorruptStreamError as error:  # counts its chunks from the start of the slice
        if start == 0:
            raise
        raise CorruptStreamError(f"behind byte {start} of the contents, {error}") from None


def chunk_slices(chunks: Bytes, size_bytes: int, slice_bytes: int | None = None) -> Iterator[Bytes]:
    """The chunk streams of the slices of so many bytes; CorruptStreamError if one is cut off."""
    step = slice_bytes or SLICE_BYTES
    for start in range(0, size_bytes, step):
        size = span(chunks, min(step, size_bytes - start))
        yield chunks[:size]
        chunks = chunks[size:]


def inspect(chunks: Bytes, how: Coding, size_bytes: int) -> tuple[list[int], int, int]:
    """Blocks by tag, raw chunks and encoded chunks of chunks that check_chunks() has passed."""
    tags, raw, encoded = [0] * 16, 0, 0
    left = size_bytes
    for piece in chunk_slices(chunks, size_bytes):
        found = _native.inspect(piece, how.codec, how.symbol_bits, min(left, SLICE_BYTES))
        tags = [a + b for a, b in zip(tags, found[0], strict=True)]
        raw, encoded = raw + found[1], encoded + found[2]
        left -= SLICE_BYTES
    return tags, raw, encoded


def measure(
    flat: Bytes, symbol_bits: int, codecs: int, stride: int, threads: int
) -> tuple[int, list[int], list[int]]:
    """Bytes measured, stream bytes by codec, blocks by encoder, of every stride-th chunk."""
    step = max(1, SLICE_BYTES // (CHUNK_BYTES * stride)) * CHUNK_BYTES * stride
    raw, sizes, blocks = _native.measure(flat[:step], symbol_bits, codecs, stride, threads)
    for part in slices(flat[step:], step):
        found = _native.measure(part, symbol_bits, codecs, stride, threads)
        raw += found[0]
        sizes = [a + b for a, b in zip(sizes, found[1], strict=True)]
        blocks = [a + b for a, b in zip(blocks, found[2], strict=True)]
    return raw, sizes, blocks

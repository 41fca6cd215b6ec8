"""Parts of a stream's contents, without decoding the rest."""

from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planezip.codec import adapter, engine, options, restore
from planezip.codec.api import filled, opened
from planezip.codec.format import CHUNK_BYTES
from planezip.errors import InputError

Bytes = NDArray[np.uint8]

_STRIDE_BYTES = 1 << 20  # of contents between two entries of the index, whole chunks


class StreamView:
    """A stream whose contents are decoded where they are asked for.

    Opening checks the preamble, walks the headers of all chunks to find them, and reads the stream
    once to compare the checksum. What is read later costs the 4,096-byte chunks that it touches,
    and up to 255 chunk headers before them; it checks these chunks, the checksum no more.
    """

    def __init__(self, stream: Any, verify: bool = True) -> None:
        """Open a stream; it must not change, nor a mapped file be cut off, while it is in use.

        Args:
            stream: a bytes-like object. Of a memory-mapped file everything is read, to compare the
                checksum; with `verify` off, the pages that hold chunk headers, which may be all.
            verify: compare the checksum of the whole. Without it, damage may go unnoticed, or
                be noticed when the place is read; nothing worse can happen.

        Raises:
            CorruptStreamError: the stream is damaged, truncated, or not a PlaneZip stream.
            InputError: the stream is not bytes-like.
        """
        source = adapter.byte_view(stream, "decompress")
        self._contents, self._chunks, self._how = opened(source, 1, verify)
        spans = engine.chunk_slices(self._chunks, self._contents.byte_length, _STRIDE_BYTES)
        sizes = (span.nbytes for span in spans)
        self._offsets = np.fromiter(accumulate(sizes, initial=0), np.uint64)
        self._item_bytes = restore.item_bytes(self._contents)

    @property
    def family(self) -> str:
        """What is restored: "bytes", "numpy" or "torch"."""
        return self._contents.family

    @property
    def dtype(self) -> str:
        """Name of the element type; empty for bytes."""
        return self._contents.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions; empty for bytes."""
        return self._contents.shape

    @property
    def byte_length(self) -> int:
        """Bytes of the contents."""
        return self._contents.byte_length

    def __len__(self) -> int:
        """Elements of the contents; of bytes, their number."""
        return self.byte_length // self._item_bytes if self._item_bytes else 0

    def elements(self, start: int, stop: int, threads: int | None = None) -> Any:
        """Elements start ... stop - 1 in row-major order: bytes, or a 1-d array or tensor.

        Raises:
            InputError: 0 <= start <= stop <= len(self) does not hold.
            CorruptStreamError: a chunk that holds some is damaged.
        """
        first, last = _checked(start, stop, len(self), "elements")
        begin, end = first * self._item_bytes, last * self._item_bytes
        shape = () if self.family == "bytes" else (last - first,)
        part = self._contents._replace(shape=shape, byte_length=end - begin)
        return filled(part, lambda flat: self._read(begin, flat, threads))

    def bytes(self, start: int, stop: int, threads: int | None = None) -> bytes:
        """Bytes start ... stop - 1 of the contents; errors as of elements()."""
        first, last = _checked(start, stop, self.byte_length, "bytes")
        part = adapter.Contents("bytes", "", (), last - first)
        result: bytes = filled(part, lambda flat: self._read(first, flat, threads))
        return result

    def _read(self, start: int, out: Bytes, threads: int | None) -> None:
        """Fill `out` with the contents from byte `start` on."""
        if not out.nbytes:
            return
        how = self._how._replace(threads=options.thread_count(threads, out.nbytes))
        chunks = self._chunks_from(start // CHUNK_BYTES * CHUNK_BYTES)
        for begin, end in _pieces(start, start + out.nbytes):
            first = begin // CHUNK_BYTES * CHUNK_BYTES
            size = min(-(-end // CHUNK_BYTES) * CHUNK_BYTES, self.byte_length) - first
            span = engine.span(chunks, size)
            part = out[begin - start : end - start]
            if size == part.nbytes:
                engine.decode(chunks[:span], how, part, first)
            else:
                chunk = np.empty(size, np.uint8)
                engine.decode(chunks[:span], how, chunk, first)
                part[:] = chunk[begin - first : end - first]
            chunks = chunks[span:]

    def _chunks_from(self, at: int) -> Bytes:
        """The chunk stream from that byte of the contents on, a multiple of a chunk's."""
        entry, behind = divmod(at, _STRIDE_BYTES)
        chunks = self._chunks[int(self._offsets[entry]) :]
        return chunks[engine.span(chunks, behind) :]


def _pieces(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Part of a chunk, whole chunks, part of a chunk, as far as the range has such."""
    first = min(-(-start // CHUNK_BYTES) * CHUNK_BYTES, stop)
    last = max(stop // CHUNK_BYTES * CHUNK_BYTES, first)
    return (piece for piece in pairwise((start, first, last, stop)) if piece[0] < piece[1])


def _checked(start: int, stop: int, count: int, what: str) -> tuple[int, int]:
    first, last = options.at_least("start", start, 0), options.at_least("stop", stop, 0)
    if not first <= last <= count:
        raise InputError(f"there are no {what} {first} to {last}: the stream holds {count}")
    return first, last


def decompress_range(
    stream: Any, start: int, stop: int, threads: int | None = None, verify: bool = True
) -> Any:
    """Elements start ... stop - 1 of what was compressed, in row-major order.

    Only the chunks that hold them are decoded. To read several parts, keep a `StreamView`, which
    compares the checksum once.

    Args:
        verify: compare the checksum of the whole stream, which reads all of it. Without it, the
            preamble, all chunk headers and the chunks that are decoded are still checked, but
            damage that leaves them possible goes unnoticed.

    Returns:
        bytes, or a 1-d array or tensor: elements of whichever was compressed.

    Raises:
        CorruptStreamError: the stream is damaged, truncated, or not a PlaneZip stream.
        InputError: an argument cannot be used.
    """
    return StreamView(stream, verify).elements(start, stop, threads)

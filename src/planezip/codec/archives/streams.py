"""Streams from files to files, slice by slice."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from planezip import _native
from planezip.codec import engine, options, preamble
from planezip.codec.adapter import Contents
from planezip.codec.archives.manifest import Entry
from planezip.codec.archives.raw_hash import RawHash
from planezip.codec.archives.region import Bytes, Region
from planezip.codec.archives.settings import Settings
from planezip.codec.engine import Coding
from planezip.codec.format import SymbolBits
from planezip.codec.preamble import CHECKSUM, Checksum
from planezip.codec.streaming import Advance, write_bytes, write_slices
from planezip.errors import CorruptStreamError


def write(
    file: BinaryIO, data: Region, bits: SymbolBits, settings: Settings, advance: Advance
) -> str:
    """Write the stream of a region, as bytes; return their XXH3-64.

    Args:
        file: a seekable file, written at its position.
        data: what to compress.
        bits: symbol width if the settings have none.
        settings: options of compress().
        advance: told of the bytes done.
    """
    digest = RawHash()
    contents = Contents("bytes", "", (), data.nbytes)
    write_contents(file, contents, digest.passing(data.slices()), bits, settings, advance)
    return digest.hexdigest()


def write_contents(
    file: BinaryIO,
    contents: Contents,
    slices: Iterator[Bytes],
    bits: SymbolBits,
    settings: Settings,
    advance: Advance,
) -> None:
    """Write the stream of contents that come in slices of engine.SLICE_BYTES."""
    codec = options.codec_id(settings.codec)
    width = options.chosen_symbol_bits(settings.symbol_bits, bits)
    threads = options.thread_count(settings.threads, contents.byte_length)
    head = preamble.pack(codec, width, contents)
    write_slices(file, head, Coding(codec, width, threads), slices, advance)


def read(stream: Region, threads: int | None) -> tuple[Contents, Iterator[Bytes]]:
    """What a stream holds, and its contents in pieces, each overwritten by the next.

    Raises:
        CorruptStreamError: now or in iterating, the stream is damaged, or no PlaneZip stream.
    """
    front = np.frombuffer(stream[: preamble.MAX_BYTES].tobytes(), np.uint8)
    head, rest = preamble.split(front, verify=False)
    start = front.nbytes - rest.nbytes
    checksum = Checksum(front[:start].tobytes())
    for part in stream[start:].slices():
        checksum.update(part)
    if checksum.digest() != front[CHECKSUM].tobytes():
        raise CorruptStreamError("the checksum does not match: the stream is damaged or truncated")
    count = options.thread_count(threads, head.contents.byte_length)
    how = Coding(head.codec, head.symbol_bits, count)
    return head.contents, _decoded(stream[start:], how, head.contents.byte_length)


def _decoded(chunks: Region, how: Coding, size_bytes: int) -> Iterator[Bytes]:
    step = engine.SLICE_BYTES
    window = out = np.empty(0, np.uint8)
    at = 0
    for begin in range(0, size_bytes, step):
        size = min(step, size_bytes - begin)
        ahead = chunks[at : at + _native.encode_bound(size)]
        if not begin:
            window = np.empty(ahead.nbytes, np.uint8)
        piece = ahead.read_into(window)
        piece = piece[: engine.span(piece, size)]
        if not begin:  # the chunks' headers have shown that so much memory may be asked for
            out = np.empty(size, np.uint8)
        engine.decode_slice(piece, how, out[:size], begin)
        at += piece.nbytes
        yield out[:size]
    if at != chunks.nbytes:
        raise CorruptStreamError("the stream goes on behind its last chunk")


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor in an archive: its name, what the manifest says, its bytes, and its stream."""

    name: str
    entry: Entry
    byte_length: int
    stream: Region

    def restore_into(self, file: BinaryIO, threads: int | None, advance: Advance) -> None:
        """Write the tensor's bytes to a file.

        Raises:
            CorruptStreamError: the stream is damaged, or is not of a tensor of this size and hash.
        """
        digest = RawHash()
        try:
            contents, parts = read(self.stream, threads)
            if contents.byte_length != self.byte_length:
                raise CorruptStreamError("it has another size than its shape says")
            for part in digest.passing(parts):
                write_bytes(file, part)
                advance(part.nbytes)
            if digest.hexdigest() != self.entry.xxh3_64:
                raise CorruptStreamError("it is not what was compressed: its hash differs")
        except CorruptStreamError as error:
            raise CorruptStreamError(f"tensor {self.name!r}: {error}") from None

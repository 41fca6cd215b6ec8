"""What a stream holds, without restoring it."""

from dataclasses import dataclass
from typing import Any

from planezip.codec import adapter, engine
from planezip.codec.api import opened
from planezip.codec.format import CODECS, tag_names


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """A stream, described.

    Attributes:
        codec, symbol_bits: how it was compressed.
        family: "bytes", "numpy" or "torch": what is restored.
        dtype: name of the element type; empty for bytes.
        shape: sizes of the dimensions; empty for bytes.
        byte_length: uncompressed bytes.
        stream_bytes: bytes of the stream.
        wire_bytes: bytes of its chunk stream: tags, headers and padding in, the preamble out.
        encoder_blocks: tag name -> 128-byte blocks; blocks of raw chunks count as raw.
        raw_chunks, encoded_chunks: chunks stored raw, and the others.
    """

    codec: str
    symbol_bits: int
    family: str
    dtype: str
    shape: tuple[int, ...]
    byte_length: int
    stream_bytes: int
    wire_bytes: int
    encoder_blocks: dict[str, int]
    raw_chunks: int
    encoded_chunks: int

    @property
    def ratio(self) -> float:
        """Uncompressed bytes over bytes of the chunk stream; 1.0 if empty."""
        return self.byte_length / self.wire_bytes if self.wire_bytes else 1.0


def describe(stream: Any) -> StreamInfo:
    """Read and check a whole stream, keeping none of its contents.

    Raises:
        CorruptStreamError: the stream is damaged, truncated, or not a PlaneZip stream.
    """
    source = adapter.byte_view(stream, "describe")
    contents, chunks, how = opened(source, None)
    codec = CODECS[how.codec]
    tag_blocks, raw_chunks, encoded_chunks = engine.inspect(chunks, how, contents.byte_length)
    return StreamInfo(
        codec=codec,
        symbol_bits=how.symbol_bits,
        family=contents.family,
        dtype=contents.dtype,
        shape=contents.shape,
        byte_length=contents.byte_length,
        stream_bytes=source.nbytes,
        wire_bytes=chunks.nbytes,
        encoder_blocks=dict(zip(tag_names(codec), tag_blocks, strict=False)),
        raw_chunks=raw_chunks,
        encoded_chunks=encoded_chunks,
    )

"""Compressed sizes under all six codecs, without compressing."""

from dataclasses import dataclass
from typing import Any

from planezip.codec import adapter, engine, options
from planezip.codec.format import CODECS, ENCODERS


@dataclass(frozen=True, slots=True)
class Measurement:
    """Sizes of the chunks that were measured.

    Attributes:
        raw_bytes: their uncompressed bytes.
        wire_bytes: codec name -> bytes of their chunk stream: tags, headers and padding in.
        encoder_blocks: encoder that the planezip codec stores a block under -> 128-byte blocks;
            the blocks of a chunk that is stored raw count as raw.
    """

    raw_bytes: int
    wire_bytes: dict[str, int]
    encoder_blocks: dict[str, int]

    def ratio(self, codec: str = "planezip") -> float:
        """Compression ratio; 1.0 if nothing was measured."""
        return self.raw_bytes / self.wire_bytes[codec] if self.raw_bytes else 1.0


MAX_STRIDE = 1 << 40
"""A larger one, too, measures the first chunk alone."""


def measure(
    x: Any,
    symbol_bits: int | None = None,
    chunk_stride: int = 1,
    threads: int | None = None,
) -> Measurement:
    """Size x under every codec in one pass (paper V-A).

    Args:
        x: NumPy array, CPU torch tensor or bytes-like object, of any dtype, shape and strides.
        symbol_bits: 16 or 32; None: 16 for BF16 and FP16, 32 for all else.
        chunk_stride: measure the 4,096-byte chunks 0, chunk_stride, 2 * chunk_stride, ...
        threads: threads at most; None: as many as pay.

    Raises:
        InputError: an argument cannot be used.
    """
    flat, contents = adapter.flatten(x)
    raw_bytes, wire_bytes, encoder_blocks = engine.measure(
        flat,
        options.chosen_symbol_bits(symbol_bits, contents.symbol_bits),
        (1 << len(CODECS)) - 1,
        min(options.at_least("chunk_stride", chunk_stride, 1), MAX_STRIDE),
        options.thread_count(threads, flat.nbytes),
    )
    return Measurement(
        raw_bytes,
        dict(zip(CODECS, wire_bytes, strict=True)),
        dict(zip(ENCODERS, encoder_blocks, strict=True)),
    )

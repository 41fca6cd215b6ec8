"""The codec for numcodecs, and so for Zarr format 2 and whatever else takes such codecs.

Registered under the entry point `numcodecs.codecs`, so that `numcodecs.get_codec` finds it.
"""

from typing import Any, ClassVar

import numpy as np
from numcodecs.abc import Codec
from numcodecs.compat import ensure_bytes, ensure_contiguous_ndarray

from planezip.codec import options
from planezip.codec.adapter import Contents
from planezip.codec.api import compress, decompress


def symbol_bits_of(dtype: object) -> int:
    """The symbol width for elements of that type; bytes if it is not NumPy's."""
    name = getattr(dtype, "str", "")
    return Contents("numpy", name, (), 0).symbol_bits


class PlaneZip(Codec):  # type: ignore[misc]
    """Compresses any buffer losslessly; the element type of an array decides the symbol width."""

    codec_id: ClassVar[str] = "planezip"

    def __init__(self, codec: str = "planezip", symbol_bits: int | None = None) -> None:
        """Choose as for planezip.compress(); InputError if there is no such codec or width."""
        options.codec_id(codec)
        self.codec = codec
        self.symbol_bits = (
            None if symbol_bits is None else options.chosen_symbol_bits(symbol_bits, 32)
        )

    def encode(self, buf: Any) -> bytes:
        """The stream of a buffer's bytes in the order in which they lie in memory."""
        bits = self.symbol_bits or symbol_bits_of(getattr(buf, "dtype", None))
        flat = ensure_contiguous_ndarray(buf).view(np.uint8)
        stream: bytes = compress(flat.data, self.codec, bits)
        return stream

    def decode(self, buf: Any, out: Any = None) -> Any:
        """The bytes of which encode() made the stream, or `out`, filled with them.

        Raises:
            CorruptStreamError: the stream is damaged.
            InputError: `out` has another size or cannot be written.
        """
        stream = ensure_bytes(buf)
        if out is None:
            return decompress(stream)
        decompress(stream, out=ensure_contiguous_ndarray(out).view(np.uint8).data)
        return out

"""The codec for arrays of Zarr format 3, where it is called "planezip".

Registered under the entry point `zarr.codecs`: it reads such arrays once planezip is installed.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from zarr.abc.codec import BytesBytesCodec
from zarr.core.common import parse_named_configuration

from planezip.codec import options
from planezip.codec.api import compress, compress_bound, decompress
from planezip.codec.numcodec import symbol_bits_of

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer

NAME = "planezip"


@dataclass(frozen=True)
class PlaneZipCodec(BytesBytesCodec):
    """Compresses the bytes of chunks losslessly; the array's type decides the symbol width.

    Attributes:
        codec, symbol_bits: as for planezip.compress().
    """

    is_fixed_size = False

    codec: str = "planezip"
    symbol_bits: int | None = None

    def __post_init__(self) -> None:
        options.codec_id(self.codec)
        if self.symbol_bits is not None:  # an int of Python's, for the metadata
            bits = options.chosen_symbol_bits(self.symbol_bits, 32)
            object.__setattr__(self, "symbol_bits", bits)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """From the metadata of an array."""
        _, configuration = parse_named_configuration(data, NAME, require_configuration=False)
        return cls(**(configuration or {}))  # type: ignore[arg-type]

    def to_dict(self) -> Any:
        """For the metadata of an array."""
        configuration = {"codec": self.codec, "symbol_bits": self.symbol_bits}
        return {"name": NAME, "configuration": configuration}

    def evolve_from_array_spec(self, array_spec: "ArraySpec") -> Self:
        """With the symbol width that suits the elements."""
        if self.symbol_bits is not None:
            return self
        dtype = array_spec.dtype.to_native_dtype()
        return replace(self, symbol_bits=symbol_bits_of(dtype))

    def compute_encoded_size(self, input_byte_length: int, _: "ArraySpec") -> int:
        """The most that a chunk may take."""
        return compress_bound(input_byte_length)

    async def _encode_single(self, chunk_bytes: "Buffer", chunk_spec: "ArraySpec") -> "Buffer":
        stream = await asyncio.to_thread(
            compress, chunk_bytes.as_numpy_array().data, self.codec, self.symbol_bits
        )
        return chunk_spec.prototype.buffer.from_bytes(stream)

    async def _decode_single(self, chunk_bytes: "Buffer", chunk_spec: "ArraySpec") -> "Buffer":
        contents = await asyncio.to_thread(decompress, chunk_bytes.as_numpy_array())
        return chunk_spec.prototype.buffer.from_bytes(contents)

"""Compressed sizes of what a storage holds, at both precisions (paper IV, V-A)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from planezip.records import Precision, WireSizes
from planezip.tracing.arguments import check_contents
from planezip.units import MIB

CHUNK_BYTES = 4096
_SAMPLE_ABOVE_BYTES = 32 * MIB
_SAMPLED_STRIDE = 4
_HALVES = (torch.bfloat16, torch.float16)


class Sizes(Protocol):
    """What a codec says of a tensor; see planezip.codec.Measurement."""

    @property
    def raw_bytes(self) -> int: ...
    @property
    def wire_bytes(self) -> dict[str, int]: ...
    @property
    def encoder_blocks(self) -> dict[str, int]: ...


class Codec(Protocol):
    """The part of a compressor that capturing needs."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the codecs."""

    def measure(self, x: torch.Tensor, symbol_bits: int | None, chunk_stride: int) -> Sizes:
        """Sizes of every chunk_stride-th chunk of x under every codec."""

    def roundtrip(self, x: torch.Tensor, name: str) -> torch.Tensor:
        """x compressed and decompressed by one codec."""


@dataclass(frozen=True)
class PlaneZipCodec:
    """The codecs of this package."""

    threads: int | None = None

    @property
    def names(self) -> Sequence[str]:
        from planezip.codec import CODECS

        return tuple(CODECS)

    def measure(self, x: torch.Tensor, symbol_bits: int | None, chunk_stride: int) -> Sizes:
        from planezip.codec import measure

        return measure(x, symbol_bits, chunk_stride, self.threads)

    def roundtrip(self, x: torch.Tensor, name: str) -> torch.Tensor:
        from planezip import compress, decompress

        restored: torch.Tensor = decompress(compress(x, name, threads=1))
        return restored


def whole_storage(tensor: torch.Tensor) -> torch.Tensor:
    """All elements of the storage behind a tensor, as a flat tensor that shares its memory.

    Raises:
        InputError: the tensor is not on the CPU or holds no numbers.
    """
    check_contents((tensor,))
    storage = tensor.untyped_storage()
    count = storage.nbytes() // tensor.element_size()
    return torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (count,), (1,))


def chunk_stride(tensor_bytes: int) -> int:
    """Every how many chunks of a tensor are compressed: large ones are sampled (paper IV)."""
    return _SAMPLED_STRIDE if tensor_bytes > _SAMPLE_ABOVE_BYTES else 1


def wire_sizes(flat: torch.Tensor, codec: Codec, final: bool = False) -> dict[Precision, WireSizes]:
    """Sizes of a tensor held in FP32 and, rounded to nearest even, in BF16.

    FP32 tensors are compressed as they are and as BF16 (paper IV); those of a pass in mixed
    precision are `final` and, like tensors of other types, the same at both precisions. The only
    copy made is the BF16 one.
    """
    stride = chunk_stride(flat.nbytes)
    if final or flat.dtype != torch.float32:
        sizes = _sizes(flat, stride, codec)
        return {"fp32": sizes, "bf16": sizes}
    return {
        "fp32": _sizes(flat, stride, codec),
        "bf16": _sizes(flat.to(torch.bfloat16), stride, codec),
    }


def _sizes(flat: torch.Tensor, stride: int, codec: Codec) -> WireSizes:
    own = codec.measure(flat, None, stride)
    wide = codec.measure(flat, 32, stride) if flat.dtype in _HALVES else own
    return WireSizes(own.raw_bytes, own.wire_bytes, own.encoder_blocks, wide.wire_bytes["planezip"])


def check_decoding(flat: torch.Tensor, codec: Codec) -> None:
    """Compress and decompress the first, a middle and the last chunk under every codec.

    Raises:
        RuntimeError: what came back differs by a bit; a defect of the codec.
    """
    per_chunk = CHUNK_BYTES // flat.element_size()
    chunks = -(-flat.numel() // per_chunk)
    for index in sorted({0, chunks // 2, chunks - 1} if chunks else ()):
        chunk = flat[index * per_chunk : (index + 1) * per_chunk]
        for name in codec.names:
            back = codec.roundtrip(chunk, name)
            if not torch.equal(back.view(torch.uint8), chunk.view(torch.uint8)):
                raise RuntimeError(
                    f"codec {name} does not restore chunk {index} of {chunks} of a tensor of "
                    f"{flat.numel()} {flat.dtype} elements"
                )

"""Measured compressibility of real saved activations, per tensor and iteration (paper IV, V-A)."""

from dataclasses import dataclass

from planezip.records.machine import Machine
from planezip.records.trace import Precision, bytes_at

CODECS = ("bdi", "zvc", "bpc", "bx", "zbx", "planezip")
"""The codecs that every tensor is measured under, in the order of the paper's figure 3."""
SYMBOL32 = "planezip-w32"
"""PlaneZip with 32-bit symbols at any precision, the paper's ablation (V-A, figure 5)."""


@dataclass(frozen=True, slots=True)
class WireSizes:
    """Sizes of one tensor under every codec at one precision.

    Attributes:
        raw_bytes: uncompressed bytes measured (of the sampled chunks, if sampled).
        wire_bytes: codec name -> bytes of the chunk stream: tags, headers and padding in.
        encoder_blocks: encoder that the planezip codec chose -> number of 128-byte blocks.
        symbol32_wire_bytes: planezip at 32-bit symbols, the paper's ablation (V-A).
    """

    raw_bytes: int
    wire_bytes: dict[str, int]
    encoder_blocks: dict[str, int]
    symbol32_wire_bytes: int

    def ratio(self, codec: str) -> float:
        """Compression ratio of one of CODECS or SYMBOL32; 1.0 for an empty tensor."""
        wire = self.symbol32_wire_bytes if codec == SYMBOL32 else self.wire_bytes[codec]
        return self.raw_bytes / wire if self.raw_bytes else 1.0


@dataclass(frozen=True, slots=True)
class TensorCapture:
    """One saved activation of one iteration.

    Attributes:
        op: index of the producing operator in the capturing run's trace, -1 for the batch.
        op_name: name of the last forward operator that wrote the contents, so that a ReLU in place
            counts as a ReLU; "input" for the batch.
        slot: its output slot.
        dtype: torch name of the element type, as captured.
        bytes: size of the tensor as captured.
        chunk_stride: every how many 4,096-byte chunks were compressed (1: all).
        sizes: precision -> sizes. Tensors that are not FP32 have the same sizes at both.
        final: it was captured in mixed precision: FP32 tensors have the same sizes at both, too.
    """

    op: int
    op_name: str
    slot: int
    dtype: str
    bytes: int
    chunk_stride: int
    sizes: dict[Precision, WireSizes]
    final: bool = False

    def bytes_at(self, precision: Precision) -> int:
        """Uncompressed size of the whole tensor when FP32 tensors are held at `precision`."""
        return bytes_at(self.bytes, self.dtype, self.final, precision)

    def wire_bytes(self, precision: Precision, codec: str) -> float:
        """Compressed size of the whole tensor; a sample's ratio stands for all of it."""
        return self.bytes_at(precision) / self.sizes[precision].ratio(codec)


@dataclass(frozen=True, slots=True)
class Capture:
    """Consecutive training iterations, every saved activation compressed.

    Attributes:
        model: name of the workload.
        batch: items in the batch of the capturing run.
        weights: where the weights came from: "pretrained", "random", or "random + N warm-up steps".
        data: what the batches were made from.
        iterations: per iteration the saved activations in order of production.
        losses: training loss of each iteration.
        op_names: names of the capturing run's operators, to align it with a trace.
        versions: versions of the libraries that made the capture.
        notes: anything that a reader must know, such as a checkpoint that was not reachable.
        machine: what made the capture; None if it does not say.
    """

    model: str
    batch: int
    weights: str
    data: str
    iterations: tuple[tuple[TensorCapture, ...], ...]
    losses: tuple[float, ...]
    op_names: tuple[str, ...]
    versions: dict[str, str]
    notes: tuple[str, ...] = ()
    machine: Machine | None = None

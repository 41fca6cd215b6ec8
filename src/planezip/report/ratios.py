"""Compression ratio of all saved activations of one iteration (paper V-A, figure 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.records import Capture, Precision, TensorCapture
from planezip.records.capture import CODECS as MEASURED
from planezip.records.capture import SYMBOL32

PRECISIONS: tuple[Precision, ...] = ("bf16", "fp32")
CODECS = (*MEASURED, SYMBOL32)
"""In the order of figure 3."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """One bar of figure 3: bytes in over bytes out, weighted by bytes.

    `codec` is a codec's name, or "planezip-w32" for PlaneZip with 32-bit symbols at any precision.
    """

    model: str
    precision: Precision
    codec: str
    ratio: float


def ratios(capture: Capture, iteration: int = 0) -> list[Ratio]:
    """Ratio of every codec at both precisions, and of PlaneZip at 32-bit symbols."""
    tensors = capture.iterations[iteration]
    measured = {*tensors[0].sizes["bf16"].wire_bytes, SYMBOL32} if tensors else set()
    codecs = [codec for codec in CODECS if codec in measured]
    return [
        Ratio(capture.model, precision, codec, ratio_of(tensors, precision, codec))
        for precision in PRECISIONS
        for codec in codecs
    ]


def mixed_models(rows: Sequence[Ratio]) -> frozenset[str]:
    """Models whose ratios are the same at both precisions.

    They compute in mixed precision, so that each tensor is compressed in the type that it has.
    """
    found: dict[tuple[str, str], set[float]] = {}
    for row in rows:
        found.setdefault((row.model, row.codec), set()).add(row.ratio)
    both = {row.model for row in rows if row.precision == "fp32"}
    return frozenset(both - {model for (model, _), ratios in found.items() if len(ratios) > 1})


def ratio_of(tensors: Sequence[TensorCapture], precision: Precision, codec: str) -> float:
    """Bytes of all `tensors` over their bytes on the wire; 1.0 if they hold nothing."""
    raw = sum(t.bytes_at(precision) for t in tensors)
    return raw / sum(t.wire_bytes(precision, codec) for t in tensors) if raw else 1.0

"""Where compression ratios come from: a capture, or the paper's Table III (`--ratios paper`)."""

from dataclasses import dataclass
from typing import Literal, Protocol

from planezip.planning import RatioTable
from planezip.planning.predictor import Signature
from planezip.records import Capture, Precision, Trace
from planezip.records.align import align
from planezip.records.capture import SYMBOL32
from planezip.report.producers import categories
from planezip.report.published import PaperProducer, paper

RatioKind = Literal["captured", "paper"]


class Source(Protocol):
    """Ratios of saved activations."""

    def ratios(
        self,
        trace: Trace,
        precision: Precision,
        codec: str,
        iteration: int = 0,
        signature: Signature = "tensor",
    ) -> dict[int, float]:
        """Ratio of every saved activation in one iteration, as a table by `signature` tells it."""


@dataclass(frozen=True)
class Captured:
    """Ratios that were measured (paper IV)."""

    capture: Capture

    def ratios(
        self,
        trace: Trace,
        precision: Precision,
        codec: str,
        iteration: int = 0,
        signature: Signature = "tensor",
    ) -> dict[int, float]:
        """InputError if the capture is of another model or has no such iteration."""
        matches = align(self.capture, trace, iteration).matches
        table = RatioTable(signature)
        table.update(self.capture.iterations[iteration], precision, codec)
        return table.predict_all(matches)


class PaperTable:
    """Table III by producing operator, the same in every iteration.

    The table is BF16. In FP32 a value has 16 bits more, which are "nearly random" (V-A) and stay
    as they are, except that a zero's are zero: the ratio of ZVC tells how many values are.
    """

    def ratios(
        self,
        trace: Trace,
        precision: Precision,
        codec: str,
        iteration: int = 0,
        signature: Signature = "tensor",
    ) -> dict[int, float]:
        """Ratio one where the table has no row. With 32-bit symbols, which it lacks, no ratios."""
        if codec == SYMBOL32:
            return {}
        found = {}
        for s, producer in categories(trace).items():
            storage = trace.storages[s]
            row = paper().producer_in(trace.model, producer)
            wide = storage.dtype == "float32" and not storage.final and precision == "fp32"
            found[s] = 1.0 if row is None else _ratio(row, codec, wide)
        return found


def _ratio(row: PaperProducer, codec: str, wide: bool) -> float:
    ratio: float = getattr(row, codec)
    if not wide:
        return ratio
    # Of 16 bits, ZVC leaves one in the mask and all 16 of a value that is not zero.
    nonzero = min(1.0, (16 / row.zvc - 1) / 16) if row.zvc > 1 else 1.0
    if codec == "zvc":
        return 32 / (1 + 32 * nonzero) if row.zvc > 1 else 1.0
    return 32 / (16 / ratio + 16 * nonzero)

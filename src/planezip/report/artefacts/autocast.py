"""Ratios of tensors that training under BF16 autocast holds, beside those of converted ones.

The paper's BF16 tensors are conversions of FP32 ones (IV), which it names as a limit (V-F).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.records import Precision, TensorCapture
from planezip.records.measurements import Measurements
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import model_title
from planezip.report.producers import category
from planezip.report.ratios import ratio_of

ALL = "all"


@dataclass(frozen=True, slots=True)
class Autocast:
    """PlaneZip's ratio on one model's activations by producing operator.

    Attributes:
        producer: the category, or "all".
        converted_share_pct, converted: share of the saved bytes and ratio of FP32 activations
            rounded to BF16; None where the category does not occur.
        autocast_share_pct, autocast: the same of what autocast saves, BF16 and FP32 as they are.
        autocast_bf16_pct: percentage of the autocast bytes that are BF16.
    """

    model: str
    producer: str
    converted_share_pct: float | None
    converted: float | None
    autocast_share_pct: float | None
    autocast: float | None
    autocast_bf16_pct: float | None


def _rows(measured: Measurements) -> list[Autocast]:
    rows = []
    for model in measured.models():
        converted, real = measured.capture(model), measured.capture(model, "autocast")
        if converted and real:
            rows += _model_rows(model, converted.iterations[0], real.iterations[0])
    return rows


def _model_rows(
    model: str, converted: Sequence[TensorCapture], real: Sequence[TensorCapture]
) -> list[Autocast]:
    rows = []
    for producer in (ALL, *sorted({category(t) for t in (*converted, *real)})):
        mine = [t for t in converted if producer in (ALL, category(t))]
        theirs = [t for t in real if producer in (ALL, category(t))]
        total = sum(t.bytes for t in theirs)
        halves = sum(t.bytes for t in theirs if t.dtype == "bfloat16")
        rows.append(
            Autocast(
                model,
                producer,
                100 * _bytes(mine, "bf16") / _bytes(converted, "bf16") if mine else None,
                ratio_of(mine, "bf16", "planezip") if mine else None,
                100 * total / _bytes(real, "fp32") if theirs else None,
                ratio_of(theirs, "fp32", "planezip") if theirs else None,
                100 * halves / total if total else None,
            )
        )
    return rows


def _bytes(tensors: Sequence[TensorCapture], precision: Precision) -> int:
    return sum(t.bytes_at(precision) for t in tensors)


def _grid(rows: Sequence[Autocast]) -> Grid:
    return Grid(
        "PlaneZip's ratio: FP32 activations rounded to BF16, and those of real BF16 autocast",
        ("model", "producer", "share %", "converted", "share %", "autocast", "of it BF16 %"),
        [
            (
                model_title(r.model),
                r.producer,
                number(r.converted_share_pct, 1),
                number(r.converted),
                number(r.autocast_share_pct, 1),
                number(r.autocast),
                number(r.autocast_bf16_pct, 0),
            )
            for r in rows
        ],
        words=2,
        note="Autocast keeps some activations in FP32; they are compressed as they are.",
    )


AUTOCAST = Artefact("autocast", "Section V-F, real BF16 tensors", Autocast, _rows, _grid)

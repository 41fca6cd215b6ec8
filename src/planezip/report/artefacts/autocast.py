"""Ratios of tensors that training under BF16 autocast holds, beside those of converted ones.

The paper's BF16 tensors are conversions of FP32 ones (IV), which it names as a limit (V-F).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from planezip.records import Capture, Precision, TensorCapture
from planezip.records.measurements import Measurements
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import model_title
from planezip.report.producers import category
from planezip.report.ratios import ratio_of
from planezip.report.weight_casts import captured_weight_casts

ALL, ALL_BUT_CASTS, CASTS = "all", "All but weight casts", "Weight cast"


@dataclass(frozen=True, slots=True)
class Autocast:
    """PlaneZip's ratio on one model's activations by producing operator.

    Attributes:
        producer: the category, or "all", or where weights are cast, "All but weight casts". Their
            casts to BF16 are a category of their own, since they hold no activation; without a
            trace under autocast they cannot be told from other copies.
        converted_share_pct, converted: share of the saved bytes and ratio of FP32 activations
            rounded to BF16; None where the category does not occur.
        autocast_share_pct, autocast: the same of what autocast saves, BF16 and FP32 as they are.
        autocast_bf16_pct: percentage of the autocast bytes that are BF16.
        converted_bf16, autocast_bf16: ratio of one producer's BF16 tensors alone, rounded and real:
            like with like; None where there are none, and for all producers, whose mixtures differ.
    """

    model: str
    producer: str
    converted_share_pct: float | None
    converted: float | None
    autocast_share_pct: float | None
    autocast: float | None
    autocast_bf16_pct: float | None
    converted_bf16: float | None
    autocast_bf16: float | None


def _rows(measured: Measurements) -> list[Autocast]:
    rows = []
    for model in measured.models():
        converted, real = measured.capture(model), measured.capture(model, "autocast")
        if converted and real:
            casts = _casts(measured, real)
            rows += _model_rows(model, converted.iterations[0], real.iterations[0], casts)
    return rows


def _casts(measured: Measurements, real: Capture) -> Collection[tuple[int, int]]:
    """Operator and slot of the weight casts; empty without a trace that tells them apart."""
    if not measured.path(real.model, "trace_autocast").exists():
        return ()
    return captured_weight_casts(real, measured.trace(real.model, "trace_autocast"))


def _model_rows(
    model: str,
    converted: Sequence[TensorCapture],
    real: Sequence[TensorCapture],
    casts: Collection[tuple[int, int]],
) -> list[Autocast]:
    def producers(tensor: TensorCapture) -> tuple[str, ...]:
        """The rows that a tensor of the autocast capture counts in."""
        if (tensor.op, tensor.slot) in casts:
            return ALL, CASTS
        return ALL, ALL_BUT_CASTS, category(tensor)

    totals = (ALL, ALL_BUT_CASTS) if casts else (ALL,)
    named = {category(t) for t in converted} | {producers(t)[-1] for t in real}
    rows = []
    for producer in (*totals, *sorted(named)):
        mine = [t for t in converted if producer in (*totals, category(t))]
        theirs = [t for t in real if producer in producers(t)]
        halves = [t for t in theirs if t.dtype == "bfloat16"]
        rows.append(
            Autocast(
                model,
                producer,
                _share_pct(mine, converted, "bf16") if mine else None,
                _ratio(mine, "bf16"),
                _share_pct(theirs, real, "fp32") if theirs else None,
                _ratio(theirs, "fp32"),
                _share_pct(halves, theirs, "fp32"),
                *_alike(mine, halves if producer not in totals else []),
            )
        )
    return rows


def _alike(
    converted: Sequence[TensorCapture], real: Sequence[TensorCapture]
) -> tuple[float | None, float | None]:
    """Ratio of tensors rounded to BF16 and of real BF16 ones, if there are both."""
    rounded = [t for t in converted if t.dtype == "float32"]
    if not (rounded and real):
        return None, None
    return _ratio(rounded, "bf16"), _ratio(real, "fp32")


def _share_pct(
    part: Sequence[TensorCapture], whole: Sequence[TensorCapture], precision: Precision
) -> float | None:
    part_bytes, whole_bytes = (sum(t.bytes_at(precision) for t in ts) for ts in (part, whole))
    return 100 * part_bytes / whole_bytes if whole_bytes else None


def _ratio(tensors: Sequence[TensorCapture], precision: Precision) -> float | None:
    return ratio_of(tensors, precision, "planezip") if tensors else None


def _grid(rows: Sequence[Autocast]) -> Grid:
    return Grid(
        "PlaneZip's ratio: FP32 activations rounded to BF16, and those of real BF16 autocast",
        ("model", "producer", "share %", "converted", "share %", "autocast", "of it BF16 %",
         "BF16 converted", "BF16 real"),
        [
            (
                model_title(r.model),
                r.producer,
                number(r.converted_share_pct, 1),
                number(r.converted),
                number(r.autocast_share_pct, 1),
                number(r.autocast),
                number(r.autocast_bf16_pct, 0),
                number(r.converted_bf16),
                number(r.autocast_bf16),
            )
            for r in rows
        ],
        words=2,
        note="Autocast keeps some activations in FP32; they are compressed as they are. Casts of "
        "weights have a row of their own. "
        "The last two columns are of those tensors alone that are BF16 in both.",
    )  # fmt: skip


AUTOCAST = Artefact("autocast", "Section V-F, real BF16 tensors", Autocast, _rows, _grid)

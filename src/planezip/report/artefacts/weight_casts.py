"""How much of what mixed precision saves are casts of weights, and what they do to the ratio."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planezip.records import Capture, Trace
from planezip.records.measurements import Measurements
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import model_title
from planezip.report.ratios import ratio_of
from planezip.report.weight_casts import captured_weight_casts, weight_casts
from planezip.units import format_bytes


@dataclass(frozen=True, slots=True)
class WeightCasts:
    """Of one model in BF16 mixed precision; ratios are PlaneZip's on the first captured iteration.

    Attributes:
        casts, cast_bytes: how many weights are saved as casts, and their size, whatever the batch.
        capture_batch, captured_pct: their share of the saved bytes at the batch of the capture.
        training_batch, training_pct: the same at the batch of training.
        ratio, ratio_casts, ratio_others: of everything, of the casts, and of everything else.
    """

    model: str
    casts: int
    cast_bytes: int
    capture_batch: int
    captured_pct: float
    training_batch: int
    training_pct: float
    ratio: float
    ratio_casts: float
    ratio_others: float


def mixed(measured: Measurements) -> Iterator[tuple[Capture, Trace]]:
    """Captures of models in mixed precision, each with the trace that is, too."""
    for model in measured.models():
        trained, real = measured.capture(model), measured.capture(model, "autocast")
        if real and measured.path(model, "trace_autocast").exists():
            yield real, measured.trace(model, "trace_autocast")
        elif trained and any(t.final for t in trained.iterations[0]):
            yield trained, measured.trace(model)


def _rows(measured: Measurements) -> list[WeightCasts]:
    rows = (_row(capture, trace) for capture, trace in mixed(measured))
    return [row for row in rows if row]


def _row(capture: Capture, trace: Trace) -> WeightCasts | None:
    found, tensors = captured_weight_casts(capture, trace), capture.iterations[0]
    casts = [t for t in tensors if (t.op, t.slot) in found]
    if not casts:
        return None
    others = [t for t in tensors if (t.op, t.slot) not in found]
    cast_bytes = sum(t.bytes for t in casts)
    traced = sum(trace.storages[s].bytes for s in weight_casts(trace))
    return WeightCasts(
        capture.model,
        len(casts),
        cast_bytes,
        capture.batch,
        100 * cast_bytes / sum(t.bytes for t in tensors),
        trace.batch,
        100 * traced / trace.saved_bytes,
        *(ratio_of(ts, "bf16", "planezip") for ts in (tensors, casts, others)),
    )


def _grid(rows: Sequence[WeightCasts]) -> Grid:
    return Grid(
        "Casts of weights to BF16 among what mixed precision saves",
        ("model", "casts", "size", "capture batch", "share %", "training batch", "share %",
         "ratio of all", "of the casts", "of all others"),
        [
            (
                model_title(r.model),
                str(r.casts),
                format_bytes(r.cast_bytes),
                str(r.capture_batch),
                number(r.captured_pct, 1),
                str(r.training_batch),
                number(r.training_pct, 1),
                number(r.ratio),
                number(r.ratio_casts),
                number(r.ratio_others),
            )
            for r in rows
        ],
        note="Their size does not depend on the batch, so that the small batch of a capture gives "
        "them more weight than training does.",
    )  # fmt: skip


WEIGHT_CASTS = Artefact(
    "weight_casts", "Section V-F, casts of weights in mixed precision", WeightCasts, _rows, _grid
)

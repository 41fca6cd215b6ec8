"""Table IV: how stable compressibility is, PlaneZip in BF16."""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.records import Capture
from planezip.records.measurements import Measurements
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import model_title
from planezip.report.predictability import SIGNATURES, error_pct
from planezip.report.published import paper
from planezip.report.ratios import ratio_of


@dataclass(frozen=True, slots=True)
class Stable:
    """One row of Table IV.

    Attributes:
        ratio_iter1 to ratio_iter3: ratio in three consecutive iterations.
        err_tensor_pct, err_optype_pct, err_global_pct: absolute errors of predicting wire sizes
            from the iteration before, over total wire bytes, by signature.
        ratio_random_init: ratio of the first iteration at random initialisation.
    """

    model: str
    ratio_iter1: float | None
    ratio_iter2: float | None
    ratio_iter3: float | None
    err_tensor_pct: float | None
    err_optype_pct: float | None
    err_global_pct: float | None
    ratio_random_init: float | None


def _rows(measured: Measurements) -> list[Stable]:
    rows = []
    for model in measured.models():
        trained, random = measured.capture(model), measured.capture(model, "random")
        if trained or random:
            rows.append(_row(model, trained, random))
    return rows


def _row(model: str, trained: Capture | None, random: Capture | None) -> Stable:
    first, second, third = (_ratio(trained, i) for i in range(3))
    tensor, optype, overall = (
        error_pct(trained, "bf16", s) if trained and len(trained.iterations) > 1 else None
        for s in SIGNATURES
    )
    return Stable(model, first, second, third, tensor, optype, overall, _ratio(random, 0))


def _ratio(capture: Capture | None, iteration: int) -> float | None:
    if capture is None or iteration >= len(capture.iterations):
        return None
    return ratio_of(capture.iterations[iteration], "bf16", "planezip")


def _grid(rows: Sequence[Stable]) -> Grid:
    return Grid(
        "Stability of compressibility, PlaneZip in BF16",
        ("model", "ratio", "paper", "tensor", "paper", "op type", "paper", "global", "paper",
         "random", "paper"),
        [_line(row) for row in rows],
        note="Ratio of three consecutive iterations and at random initialisation; between them "
        "the error in % of wire sizes predicted from the iteration before, by signature.",
    )  # fmt: skip


def _line(row: Stable) -> list[str]:
    theirs = paper().models.get(row.model)
    return [
        model_title(row.model),
        _joined((row.ratio_iter1, row.ratio_iter2, row.ratio_iter3)),
        _joined(theirs.ratio_per_iteration) if theirs else "–",
        number(row.err_tensor_pct, 1),
        number(getattr(theirs, "tensor_error_pct", None), 1),
        number(row.err_optype_pct, 1),
        number(getattr(theirs, "op_type_error_pct", None), 1),
        number(row.err_global_pct, 1),
        number(getattr(theirs, "global_error_pct", None), 1),
        number(row.ratio_random_init),
        number(getattr(theirs, "ratio_random_bf16", None)),
    ]


def _joined(ratios: Sequence[float | None]) -> str:
    return "/".join(number(ratio) for ratio in ratios)


TABLE4 = Artefact("table4", "Table IV, stability of compressibility", Stable, _rows, _grid)

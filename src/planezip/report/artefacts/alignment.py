"""Section IV: saved bytes of a trace that have no counterpart in the capture at a smaller batch."""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.records.align import align
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import model_title
from planezip.report.study import Study

PAPER_PCT = {"gpt2": 4.0}
"""Section IV: "the 4% of its saved bytes left unmatched"."""


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Saved activations of one workload that count as incompressible."""

    model: str
    unmatched_tensors: int
    unmatched_pct: float


def _rows(study: Study) -> list[Unmatched]:
    rows = []
    for model in study.models():
        capture = study.capture(model)
        if capture:
            aligned = align(capture, study.trace(model))
            missing = sum(tensor is None for tensor in aligned.matches.values())
            rows.append(Unmatched(model, missing, 100 * aligned.unmatched_share))
    return rows


def _grid(rows: Sequence[Unmatched]) -> Grid:
    return Grid(
        "Saved activations that have no counterpart in the captured iteration",
        ("model", "tensors", "bytes %", "paper"),
        [
            (
                model_title(r.model),
                str(r.unmatched_tensors),
                number(r.unmatched_pct, 1),
                number(PAPER_PCT.get(r.model), 0),
            )
            for r in rows
        ],
        note="They count as incompressible when plans are made.",
    )


ALIGNMENT = Artefact(
    "alignment", "Section IV, traces and captures aligned", Unmatched, _rows, _grid
)

"""Table I: the workloads."""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.records.measurements import Measurements
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import model_title
from planezip.report.published import paper
from planezip.report.summary import summarise


@dataclass(frozen=True, slots=True)
class Workload:
    """One row of Table I: a training iteration at the paper's batch, sizes as traced."""

    model: str
    params_millions: float
    batch: int
    saved_tensors: int
    saved_gb: float
    ops: int


def _rows(measured: Measurements) -> list[Workload]:
    return [_row(measured, model) for model in measured.models()]


def _row(measured: Measurements, model: str) -> Workload:
    s = summarise(measured.trace(model))
    return Workload(model, s.params_millions, s.batch, s.saved_tensors, s.saved_gb, s.ops)


def _grid(rows: Sequence[Workload]) -> Grid:
    columns = (("params_millions", 1), ("saved_tensors", 0), ("saved_gb", 1), ("ops", 0))
    lines = []
    for row in rows:
        theirs = paper().models.get(row.model)
        line = [model_title(row.model), str(row.batch)]
        for name, digits in columns:
            line += [
                number(getattr(row, name), digits),
                number(getattr(theirs, name, None), digits),
            ]
        lines.append(line)
    headers = ("parameters, millions", "saved tensors", "saved GB", "operators")
    return Grid(
        "Workloads: one training iteration",
        ("model", "batch", *(h for name in headers for h in (name, "paper"))),
        lines,
    )


TABLE1 = Artefact("table1", "Table I, the workloads", Workload, _rows, _grid)

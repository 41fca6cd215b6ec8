"""What every table and figure of the paper is here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from planezip.report.csvs import to_csv
from planezip.report.grid import Grid
from planezip.report.study import Study, Task

Plot = Callable[[Sequence[Any]], dict[str, bytes]]
"""Rows -> suffix of the file's name -> its bytes."""


@dataclass(frozen=True)
class Artefact:
    """One table or figure.

    Attributes:
        name: what its files and `--only` call it.
        title: what the paper calls it, and what it shows.
        kind: the dataclass of its rows; its fields are the CSV's columns.
        rows: computes the rows from measurements; those from tasks may take long.
        grid: the rows for people, the paper's values beside them.
        plot: draws the rows.
        tasks: what the rows need planned and simulated, to be run beforehand for all artefacts
            together.
    """

    name: str
    title: str
    kind: type[Any]
    rows: Callable[[Study], Sequence[Any]]
    grid: Callable[[Sequence[Any]], Grid]
    plot: Plot | None = field(default=None)
    tasks: Callable[[Study], Sequence[Task]] | None = field(default=None)

    def files(self, rows: Sequence[Any]) -> dict[str, bytes]:
        """Name -> content of the CSV file and of the plots."""
        made = {f"{self.name}.csv": to_csv(self.kind, rows)}
        if self.plot and rows:
            made |= {f"{self.name}{suffix}": data for suffix, data in self.plot(rows).items()}
        return made

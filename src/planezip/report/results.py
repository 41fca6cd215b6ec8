"""A folder that `planezip reproduce` filled, read again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planezip.errors import InputError
from planezip.records import load
from planezip.report.artefacts import ARTEFACTS, Artefact
from planezip.report.csvs import read_csv
from planezip.report.machine import Machine

Made = dict[Artefact, Sequence[Any]]
"""Tables and figures, in the paper's order, with their rows."""


def read_results(folder: Path) -> Made:
    """The rows of every table and figure in the folder; InputError if there are none."""
    found = {a: folder / f"{a.name}.csv" for a in ARTEFACTS.values()}
    made: Made = {a: _rows(a, path) for a, path in found.items() if path.exists()}
    if not made:
        raise InputError(
            f"{folder} holds no table or figure of `planezip reproduce`, such as table1.csv; "
            f"make some with: planezip reproduce --out {folder}"
        )
    return made


def _rows(artefact: Artefact, path: Path) -> Sequence[Any]:
    """Rows that a table can be made of: a file that was edited may name what there is not."""
    rows = read_csv(path, artefact.kind)
    try:
        if rows:
            artefact.grid(rows)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise InputError(f"{path} does not hold together ({what}); reproduce it anew") from None
    return rows


def read_machine(folder: Path) -> Machine | None:
    """The machine that made what is in the folder, None if it does not say."""
    path = folder / "machine.json"
    return load(path, Machine) if path.exists() else None

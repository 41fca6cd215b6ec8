"""Rows as CSV files: one column a field, the same digits on every machine."""

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, fields
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from planezip.errors import InputError
from planezip.records import write_atomically
from planezip.records.files import refuse_waiting

Row = TypeVar("Row")


def write_csv(path: Path, kind: type[Any], rows: Iterable[Any]) -> None:
    """Write instances of the dataclass `kind`; what `to_csv` makes of them."""
    write_atomically(path, to_csv(kind, rows))


def to_csv(kind: type[Any], rows: Iterable[Any]) -> bytes:
    """Instances of the dataclass `kind` as CSV; None is an empty cell, floats have six digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(f.name for f in fields(kind))
    writer.writerows([_cell(value) for value in astuple(row)] for row in rows)
    return text.getvalue().encode()


def read_csv(path: Path, kind: type[Row]) -> list[Row]:
    """Read what write_csv wrote; InputError names the file and what is wrong in it."""
    refuse_waiting(path)
    try:
        with path.open(newline="") as file:
            reader = csv.DictReader(file, strict=True)
            table, columns = list(reader), reader.fieldnames or ()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a CSV file: {error}") from None
    if missing := [f.name for f in fields(kind) if f.name not in columns]:  # type: ignore[arg-type]
        raise InputError(f"{path} does not hold {kind.__name__} rows: no column {missing[0]}")
    cells = [{name: cell or None for name, cell in row.items()} for row in table]
    try:
        rows = msgspec.convert(cells, list[kind], strict=False)  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise InputError(f"{path} does not hold {kind.__name__} rows: {error}") from None
    for line, row in enumerate(rows, 2):
        if any(isinstance(v, float) and not isfinite(v) for v in astuple(row)):
            raise InputError(f"{path} holds a number in line {line} that is none: {row}")
    return rows


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)

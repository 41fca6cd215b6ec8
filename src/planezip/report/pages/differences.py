"""What lies between our figures and the paper's, as columns of a table."""

import re
from collections.abc import Iterator, Sequence
from itertools import compress

from planezip.report.grid import Grid

PAPER = "paper"
DIFFERENCE = "difference"
_NUMBER = re.compile(r"-?[\d,]+(?:\.(\d+))?")


def with_differences(grid: Grid) -> Grid:
    """The grid with a column behind every one headed "paper": how far the one before it is off.

    The differences are of the numbers as they are shown, so that a reader can check them. Where
    the paper has no number in a whole column, there is none.
    """
    headers = [h for header in grid.headers for h in _headers(header)]
    rows = [list(_cells(grid, row)) for row in grid.rows]
    said = [h != DIFFERENCE or any(row[i] for row in rows) for i, h in enumerate(headers)]
    headers, rows = list(compress(headers, said)), [list(compress(row, said)) for row in rows]
    return Grid(grid.title, headers, rows, grid.words, grid.strong, grid.note)


def _headers(header: str) -> tuple[str, ...]:
    return (header, DIFFERENCE) if header == PAPER else (header,)


def _cells(grid: Grid, row: Sequence[str]) -> Iterator[str]:
    for i, (header, cell) in enumerate(zip(grid.headers, row, strict=True)):
        yield cell
        if header == PAPER:
            yield difference(row[i - 1], cell)


def difference(ours: str, theirs: str) -> str:
    """Ours less theirs: "+1.4 (+40 %)"; of several numbers each; of words whether they agree.

    Several numbers are the ends of a range, "7–37", or a series, "1.88/1.88/1.89". Empty where
    either is missing.
    """
    if not ours.strip("–/") or not theirs.strip("–/"):
        return ""
    here, there = _numbers(ours), _numbers(theirs)
    if len(here) == len(there) == 1:
        return _signed(here[0], there[0], relative=True)
    if len(here) == 1:
        here *= len(there)
    if not here or len(here) != len(there):
        return "same" if ours == theirs else "other"
    gaps = [_signed(h, t) for h, t in zip(here, there, strict=True)]
    return "same" if set(gaps) == {"0"} else ("/" if "/" in theirs else " and ").join(gaps)


def _numbers(text: str) -> list[str]:
    """The numbers of a range or series; nothing if any part is something else."""
    parts = re.split("[–/]", text)
    return parts if all(_NUMBER.fullmatch(part) for part in parts) else []


def _signed(ours: str, theirs: str, relative: bool = False) -> str:
    digits = max(_digits(ours), _digits(theirs))
    a, b = (float(text.replace(",", "")) for text in (ours, theirs))
    gap = round(a - b, digits)
    if not gap:
        return "0"
    said = f"{gap:+,.{digits}f}"
    if relative and b and abs(gap / b) >= 0.0005:
        said += f" ({100 * gap / abs(b):+.{0 if abs(gap / b) >= 0.0095 else 1}f} %)"
    return said.replace("-", "−")


def _digits(text: str) -> int:
    found = _NUMBER.fullmatch(text)
    return len(found.group(1) or "") if found else 0

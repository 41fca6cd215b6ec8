"""A table before it is drawn: the terminal and the page show the same one.

Its text is plain: what draws it sees to it that nothing in it is taken for markup.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planezip.report.printable import printable


@dataclass(frozen=True, slots=True)
class Grid:
    """A title, a header line, and rows of text.

    Attributes:
        words: how many of the first columns hold words; the others hold numbers.
        strong: index of the row to stress, -1 for none.
        note: a sentence that the reader needs below the table.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    strong: int = -1
    note: str = ""


def print_grid(console: Console, grid: Grid) -> None:
    """Print title, table and note."""
    shown = any(grid.headers)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, show_header=shown)
    for i, header in enumerate(grid.headers):
        style = "dim" if header.startswith("paper") else ""
        table.add_column(_text(header), justify="left" if i < grid.words else "right", style=style)
    for i, row in enumerate(grid.rows):
        table.add_row(*map(_text, row), style="bold" if i == grid.strong else None)
    console.print()
    console.print(_text(grid.title), style="bold")
    console.print(table)
    if grid.note:
        console.print(_text(grid.note), style="dim")


def _text(foreign: str) -> Text:
    return Text(printable(foreign))


def markdown(grid: Grid) -> str:
    """The grid as a Markdown table below its title."""
    align = [":--" if i < grid.words else "--:" for i in range(len(grid.headers))]
    lines = [grid.headers, align, *grid.rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return "\n\n".join(part for part in (f"**{grid.title}**", table, grid.note) if part)


def mean_of_all(values: Sequence[float | None]) -> float | None:
    """Their mean; None if one of them is missing, or all are."""
    known = [value for value in values if value is not None]
    return mean(known) if known and len(known) == len(values) else None


def number(value: float | None, digits: int = 2, absent: str = "–") -> str:
    """A number with fixed digits, or a dash where there is none."""
    return absent if value is None else f"{value:,.{digits}f}"

"""What the commands print: tables for people, JSON for programs, progress on stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from planezip.report.grid import Grid, print_grid

WIDTH = 110  # of the tables when stdout is no terminal

Advance = Callable[[int, int | None], None]
"""Called with (done, total); a total of None is not known yet."""


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


def print_grids(*grids: Grid) -> None:
    """Tables on stdout."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    with console.capture() as captured:  # rich would end the process if the reader has gone
        for grid in grids:
            print_grid(console, grid)
    click.echo(captured.get(), nl=False)


def say(message: str) -> None:
    """A remark on stderr, so that stdout holds results alone."""
    click.echo(message, err=True)


@contextmanager
def stage(title: str) -> Iterator[Advance]:
    """A long part of a command: a bar on a terminal, elsewhere one line when it is over."""
    console = Console(stderr=True, highlight=False)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(title, total=None)
        started = bar.get_time()

        def advance(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield advance
        seconds = bar.get_time() - started
    if not console.is_terminal:
        say(f"{title}: {seconds:.1f} s")

"""What the commands print: tables for people, JSON for programs, progress on stderr."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from planezip.report.grid import Grid, print_grid
from planezip.report.printable import printable

WIDTH = 120  # of the tables when stdout is no terminal

Advance = Callable[[int, int | None], None]
"""Called with (done, total); a total of None is not known yet."""


def print_json(value: object) -> None:
    """One JSON document on stdout.

    It is ASCII, whatever names it tells: bytes of file names that are not UTF-8 are escaped as
    Python's os.fsencode takes them back. Numbers that JSON does not have are null.
    """
    plain = json.dumps(msgspec.to_builtins(value, str_keys=True))
    click.echo(json.dumps(json.loads(plain, parse_constant=lambda _: None), indent=2))


def print_grids(*grids: Grid) -> None:
    """Tables on stdout."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    with console.capture() as captured:  # rich would end the process if the reader has gone
        for grid in grids:
            print_grid(console, grid)
    click.echo(captured.get(), nl=False)


def say(message: str) -> None:
    """A remark on stderr, so that stdout holds results alone."""
    click.echo(printable(message), err=True)


class _Told(ProgressColumn):
    """How many are done and how long it takes: "31/40, 12 s, 4 s left"."""

    def render(self, task: Task) -> Text:
        known = task.total is not None and task.total > 1
        parts = [f"{task.completed:g}/{task.total:g}"] if known else []
        parts += [f"{task.elapsed or 0:.0f} s"]
        if task.time_remaining:
            parts.append(f"{task.time_remaining:.0f} s left")
        return Text(", ".join(parts), style="dim")


@dataclass
class Stage:
    """A long part of a command, called with (done, total) as `Advance` is.

    Attributes:
        title: what it is called when it is over.
    """

    title: str
    advance: Advance

    def __call__(self, done: int, total: int | None) -> None:
        self.advance(done, total)


@contextmanager
def stage(title: str) -> Iterator[Stage]:
    """A long part of a command: a bar on a terminal, elsewhere one line when it is over."""
    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description:<30}"), BarColumn(), _Told())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=None)
        started = bar.get_time()

        def advance(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        told = Stage(title, advance)
        yield told
        bar.update(task, description=told.title)
        seconds = bar.get_time() - started
        if bar.tasks[0].total is None:
            bar.update(task, completed=1, total=1)
    if not console.is_terminal:
        say(f"{told.title}: {seconds:.1f} s")

"""Evaluates, writes and prints a report: the common end of `report` and `demo`."""

from collections.abc import Sequence
from pathlib import Path

import click

from planezip.cli.output import print_grids, print_json, stage
from planezip.records import Capture, Platform, Trace
from planezip.report.contents import Contents, contents
from planezip.report.printable import printable
from planezip.report.sources import Source
from planezip.report.write import write_report
from planezip.units import counted


def make_report(
    trace: Trace,
    source: Capture | Source | None,
    platforms: Sequence[Platform],
    budgets_pct: Sequence[float],
    folder: Path,
    policy: str = "planezip",
    jobs: int | None = None,
) -> tuple[Contents, list[Path]]:
    """Evaluate all policies and write everything; returns the files, the page first."""
    with stage("plan and simulate") as advance:
        made = contents(trace, source, platforms, budgets_pct, advance, jobs)
    with stage("write tables, plots and page"):
        files = write_report(folder, made, policy)
    return made, files


def print_report(made: Contents, files: list[Path], as_json: bool) -> None:
    """The report's tables and where the page is, or all of it as JSON."""
    if as_json:
        print_json(
            {
                "summary": made.summary,
                "ratios": made.ratios,
                "producers": made.producers,
                "predictability": made.stability,
                "overheads": made.rows,
                "files": [str(file) for file in files],
            }
        )
        return
    print_grids(*made.grids())
    click.echo(f"\n{counted(len(files), 'file')}; read {printable(str(files[0]))}")

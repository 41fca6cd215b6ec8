"""planezip report"""

from math import isnan
from pathlib import Path
from typing import Any

import click

from planezip.cli import options


class Percentage(click.FloatRange):
    """A range that holds numbers only: click lets "nan" pass any."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


@click.command(
    epilog=options.example(
        "planezip report resnet50 -o out/report",
        "planezip report trace.json.gz --capture capture.json.gz --platform B -o out/report",
    )
)
@click.argument("trace", metavar="TRACE")
@options.capture
@options.ratios
@click.option("--platform", "names", multiple=True, help="A or B; repeatable.  [default: both]")
@click.option(
    "--budget",
    "budgets",
    type=Percentage(0, 100, min_open=True),
    multiple=True,
    metavar="PERCENT",
    help="Percentage of the peak without eviction; repeatable.  [default: 90 70 50 30]",
)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    required=True,
    help="Write CSV files, plots, timelines and report.html there.",
)
@options.as_json
def command(
    trace: str,
    capture_file: Path | None,
    ratios: str | None,
    names: tuple[str, ...],
    budgets: tuple[float, ...],
    folder: Path,
    as_json: bool,
) -> None:
    """Plan and simulate TRACE with all six policies at every budget, and write a report.

    TRACE is a file that `planezip trace` wrote, or a model's name to trace it now.
    """
    from planezip.cli.inputs import read_source, read_trace
    from planezip.cli.reporting import make_report, print_report
    from planezip.records import platform
    from planezip.report.evaluate import BUDGETS_PCT
    from planezip.report.write import writable_folder

    platforms = [platform(name) for name in names or ("A", "B")]
    record = read_trace(trace)
    source = read_source(capture_file, ratios, record)
    writable_folder(folder)
    made, files = make_report(record, source, platforms, budgets or BUDGETS_PCT, folder)
    print_report(made, files, as_json)

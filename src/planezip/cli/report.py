"""planezip report"""

import os
from pathlib import Path
from typing import Any

import click

from planezip.cli import options


@click.command(
    epilog=options.example(
        "planezip report resnet50 -o out/report",
        "planezip report trace.json.gz --capture capture.json.gz --platform B -o out/report",
        "planezip reproduce --out out/paper",
        "planezip report out/paper --model densenet121 --policy bw+zvc",
    )
)
@click.argument("source", metavar="TRACE|FOLDER")
@options.capture
@options.ratios
@click.option(
    "--platform",
    "names",
    multiple=True,
    help="A, B or any that `plan --help` names; repeatable.  [default: A and B]",
)
@click.option(
    "--budget",
    "budgets",
    type=options.Number(0, 100, min_open=True),
    multiple=True,
    metavar="PERCENT",
    help="Percentage of the peak without eviction; repeatable.  [default: 90 70 50 30]",
)
@click.option(
    "--policy",
    default="planezip",
    show_default=True,
    help="The policy whose plans the page draws.",
)
@options.model
@options.measurements
@options.jobs
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="FOLDER",
    type=options.NAMED_PATH,
    help="Write the report on TRACE there: CSV files, plots, timelines and report.html.",
)
@options.as_json
def command(
    source: str,
    capture_file: Path | None,
    ratios: str | None,
    names: tuple[str, ...],
    budgets: tuple[float, ...],
    policy: str,
    model: str | None,
    measurements: Path | None,
    jobs: int | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Write one page that holds everything it shows: report.html.

    TRACE is a file that `planezip trace` wrote, or a model's name to trace it now: it is planned
    for with all policies at every budget.

    FOLDER is what `planezip reproduce` filled: its tables and figures are shown beside the paper's
    values, with the plans of one workload. --ratios and --measurements are those it was made with.
    """
    from planezip.planning import policy as policy_named
    from planezip.records.measurements import OTHER_MODELS, PAPER_MODELS

    policy_named(policy)
    names = tuple(dict.fromkeys(names))
    budgets = _told_apart(budgets)
    if os.path.isdir(source) and source not in (*PAPER_MODELS, *OTHER_MODELS):
        given = {"-o": folder, "--capture": capture_file, "--budget": budgets, "--jobs": jobs}
        _refuse("of a folder", given)
        _report_folder(Path(source), measurements, ratios, model, names, policy, as_json)
        return
    _refuse("of a trace", {"--model": model, "--measurements": measurements})
    if folder is None:
        raise click.UsageError(
            f"{source} is no folder to show; for a report on a trace or model, "
            "say with -o FOLDER where to write it"
        )
    _report_trace(source, capture_file, ratios, names, budgets, policy, jobs, folder, as_json)


def _told_apart(budgets_pct: tuple[float, ...]) -> tuple[float, ...]:
    """Without those that would be printed like an earlier one."""
    first: dict[str, float] = {}
    for budget in budgets_pct:
        first.setdefault(f"{budget:g}", budget)
    return tuple(first.values())


def _refuse(what: str, given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value not in (None, ()):
            raise click.UsageError(f"{option} does not belong to the report {what}")


def _report_trace(
    source: str,
    capture_file: Path | None,
    ratios: str | None,
    names: tuple[str, ...],
    budgets: tuple[float, ...],
    policy: str,
    jobs: int | None,
    folder: Path,
    as_json: bool,
) -> None:
    from planezip.cli.inputs import read_source, read_trace
    from planezip.cli.reporting import make_report, print_report
    from planezip.records import PAPER_PLATFORMS, platform
    from planezip.report.evaluate import BUDGETS_PCT
    from planezip.report.write import writable_folder

    platforms = [platform(name) for name in names or PAPER_PLATFORMS]
    record = read_trace(source)
    with_ratios = read_source(capture_file, ratios, record)
    with writable_folder(folder):
        made, files = make_report(
            record, with_ratios, platforms, budgets or BUDGETS_PCT, folder, policy, jobs
        )
    print_report(made, files, as_json)


def _report_folder(
    folder: Path,
    measurements: Path | None,
    ratios: str | None,
    model: str | None,
    names: tuple[str, ...],
    policy: str,
    as_json: bool,
) -> None:
    from planezip.cli.output import print_json, stage
    from planezip.records import PAPER_PLATFORMS
    from planezip.records.measurements import measurements_in
    from planezip.report.explored import explorers, provenance
    from planezip.report.printable import printable
    from planezip.report.results import read_machine, read_results
    from planezip.report.study import Study
    from planezip.report.write import writable_folder, write_page

    made, made_on = read_results(folder), read_machine(folder)
    study = Study(measurements_in(measurements).folder, ratios or "captured")  # type: ignore[arg-type]
    with writable_folder(folder), stage("page"):
        drawn = explorers(study, made, model, names or PAPER_PLATFORMS, policy)
        page = write_page(folder, made, drawn, provenance(study, made_on))
    if as_json:
        print_json({"shown": [artefact.name for artefact in made], "files": [str(page)]})
    else:
        click.echo(f"{len(made)} tables and figures; read {printable(str(page))}")

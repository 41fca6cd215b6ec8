"""planezip simulate"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planezip.cli import options
from planezip.errors import InputError, PlanOverflowError

if TYPE_CHECKING:
    from planezip.records import Plan, Timeline
    from planezip.report.bench import Bench


@click.command(
    epilog=options.example(
        "planezip trace resnet50 -o trace.json.gz",
        "planezip plan trace.json.gz --platform B --budget 50% -o plan.json",
        "planezip simulate trace.json.gz plan.json --perfetto timeline.json",
    )
)
@click.argument("trace", metavar="TRACE")
@click.argument("plan", metavar="PLAN", type=options.NAMED_PATH)
@options.capture
@options.ratios
@click.option(
    "--perfetto",
    "perfetto_file",
    metavar="FILE",
    type=options.NAMED_PATH,
    help="Write a timeline for ui.perfetto.dev or chrome://tracing there.",
)
@options.output("the timeline as a record, with every event,")
@options.as_json
def command(
    trace: str,
    plan: Path,
    capture_file: Path | None,
    ratios: str | None,
    perfetto_file: Path | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Run PLAN for one iteration of TRACE on the platform that it was made for.

    The plan is checked first. With a capture, transfers take the ratios of its second iteration,
    otherwise those that the plan predicts.
    """
    from planezip.cli.inputs import read_plan, read_source, read_trace, refuse_to_share
    from planezip.cli.output import print_grids, print_json
    from planezip.records import file_bytes, platform, to_json, write_together
    from planezip.report.bench import Bench
    from planezip.report.planned import action_grid, iteration_grid, plan_facts
    from planezip.simulation import perfetto

    refuse_to_share({"-o": output, "--perfetto": perfetto_file}, trace, plan, capture_file)
    record = read_trace(trace)
    made = read_plan(plan, record)
    on = platform(made.platform)
    bench = Bench(record, on, read_source(capture_file, ratios, record))
    timeline = _run(bench, made, plan, capture_file)
    written = {output: file_bytes(output, timeline)} if output else {}
    if perfetto_file:
        written[perfetto_file] = to_json(perfetto(record, made, timeline))
    write_together(written)
    if as_json:
        files = {"file": output and str(output), "perfetto": perfetto_file and str(perfetto_file)}
        print_json({**plan_facts(bench, made, timeline), **files})
        return
    print_grids(
        action_grid(record, on, made),
        iteration_grid(made, timeline, bench.peak_bytes, bench.unlimited_s),
    )


def _run(bench: "Bench", made: "Plan", plan: Path, capture_file: Path | None) -> "Timeline":
    from planezip.cli.inputs import unusable_plan

    try:
        return bench.run(made, detail=True)
    except PlanOverflowError as error:
        if bench.source is None:  # transfers take what the plan itself predicts
            raise unusable_plan(plan, error) from None
        ratios = capture_file or "the paper's Table III"
        raise InputError(
            f"{plan} does not fit its budget with the ratios of {ratios}: {error}; "
            "plan with those ratios, or for a larger budget"
        ) from None

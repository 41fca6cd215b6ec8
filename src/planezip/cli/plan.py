"""planezip plan"""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planezip.cli import options
from planezip.errors import InputError, OverBudgetError

if TYPE_CHECKING:
    from planezip.records import Plan
    from planezip.report.bench import Bench

MOST_EVALUATIONS = 1_000_000_000


@click.command(
    epilog=options.example(
        "planezip plan resnet50 --platform B --budget 50%",
        "planezip plan trace.json.gz --budget 2.5GB --policy bw -o plan.json",
    )
)
@click.argument("trace", metavar="TRACE")
@options.platform
@click.option(
    "--budget",
    required=True,
    help="Limit on activation memory: a share of the peak without eviction (50%) or a size (2GB).",
)
@click.option(
    "--policy",
    default="planezip",
    show_default=True,
    help="recomp, swap, dte, bw, bw+zvc, planezip, planezip+in-place or planezip+.",
)
@options.capture
@options.ratios
@click.option(
    "--bound", "with_bound", is_flag=True, help="Say how far the plan is from the best possible."
)
@click.option(
    "--tensors",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="List so many evicted activations.",
)
@click.option(
    "--seconds",
    type=options.Number(0),
    default=2.0,
    show_default=True,
    help="Stop planezip+'s search after so long.",
)
@click.option(
    "--evaluations",
    type=click.IntRange(0, MOST_EVALUATIONS),
    default=20_000,
    show_default=True,
    metavar="N",
    help="Stop it after N plans; the same N and seed find the same plan.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Of the search.",
)
@options.output("the plan")
@options.as_json
def command(
    trace: str,
    platform: str,
    budget: str,
    policy: str,
    capture_file: Path | None,
    ratios: str | None,
    with_bound: bool,
    tensors: int,
    seconds: float,
    evaluations: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Decide what to keep, swap, compress and drop, so that activations fit the budget.

    TRACE is a file that `planezip trace` wrote, or a model's name to trace it now. With a capture,
    the plan is made with the ratios of its first iteration.
    """
    from planezip.cli.inputs import parse_budget, read_source, read_trace, refuse_to_share
    from planezip.cli.output import print_grids, print_json
    from planezip.planning import Effort
    from planezip.records import platform as platform_named
    from planezip.records import save
    from planezip.report.bench import Bench
    from planezip.report.planned import (
        action_grid,
        bound_facts,
        bound_grid,
        iteration_grid,
        plan_facts,
        tensor_grid,
    )

    on = platform_named(platform)
    refuse_to_share({"-o": output}, trace, capture_file)
    record = read_trace(trace)
    effort = Effort(evaluations, seconds, seed)
    bench = Bench(record, on, read_source(capture_file, ratios, record), effort=effort)
    plan = _plan(bench, policy, parse_budget(budget, bench.peak_bytes))
    predicted = bench.predict(plan)
    if output:
        save(output, plan)
    if as_json:
        facts = {**plan_facts(bench, plan, predicted), "file": output and str(output)}
        print_json(facts | (bound_facts(bench, plan) if with_bound else {}))
        return
    print_grids(
        action_grid(record, on, plan),
        iteration_grid(plan, predicted, bench.peak_bytes, bench.unlimited_s),
        *([bound_grid(bench, plan)] if with_bound else []),
        *([tensor_grid(record, on, plan, tensors)] if tensors else []),
    )


def _plan(bench: "Bench", policy: str, budget_bytes: int) -> "Plan":
    try:
        return bench.make_plan(policy, budget_bytes)
    except OverBudgetError as error:
        smallest = error.smallest_feasible_bytes
        share = math.ceil(1000 * smallest / bench.peak_bytes) / 10
        raise InputError(
            f"policy {policy} has no plan within {budget_bytes} bytes on platform "
            f"{bench.platform.name}; the smallest budget that a plan was found for is {smallest} "
            f"bytes ({share:g}% of the peak)"
        ) from None

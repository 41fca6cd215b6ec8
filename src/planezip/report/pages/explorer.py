"""One workload's plans over all budgets: what the page's slider moves through."""

import gzip
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose

from planezip.errors import InputError
from planezip.records import Plan, Timeline, to_json
from planezip.report.bench import Bench
from planezip.report.evaluate import row_of
from planezip.report.grid import Grid
from planezip.report.grids import cost_grid, overhead_grid
from planezip.report.names import POLICIES, model_title, platform_title
from planezip.report.pages.drawing import Chart, chart
from planezip.report.planned import action_grid
from planezip.report.rows import Row
from planezip.simulation import perfetto
from planezip.units import format_bytes

DRAWN = "planezip"
"""The policy whose plans are drawn unless another one is asked for."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file that the page carries."""

    name: str
    uri: str
    size: str


@dataclass(frozen=True, slots=True)
class Stop:
    """One position of the slider.

    Attributes:
        said: the finding in one sentence.
        grids: what all policies cost at this budget, and what the drawn plan does.
        chart, timeline: of the drawn plan; None if the policy has none.
    """

    budget_pct: float
    said: str
    grids: tuple[Grid, ...]
    chart: Chart | None
    timeline: Download | None


@dataclass(frozen=True, slots=True)
class Explorer:
    """All budgets of one workload on one platform, the smallest first.

    Attributes:
        name: the part of the page that it is, as an id.
        start: index of the stop that is shown first.
    """

    name: str
    title: str
    policy: str
    overheads: Grid
    stops: tuple[Stop, ...]
    start: int


def explorer(bench: Bench, rows: Sequence[Row], policy: str = DRAWN) -> Explorer:
    """Draw the policy's plan at every budget of the rows.

    Args:
        rows: of any workloads and platforms; those of the bench's are shown.
        policy: whose plans to draw; if it has no rows, the last policy that has.

    Raises:
        InputError: there are no rows of the bench's workload and platform, or some are lacking, or
            they were made from other measurements, ratios or plans.
    """
    model, on = bench.trace.model, bench.platform
    mine = [r for r in rows if (r.model, r.platform) == (model, on.name)]
    if not mine:
        raise InputError(f"no overheads of {model} on platform {on.name} to show")
    known = [name for name in POLICIES if any(r.policy == name for r in mine)]
    drawn = policy if policy in known else known[-1]
    budgets = sorted({r.budget_pct for r in mine})
    if len({(r.policy, r.budget_pct) for r in mine}) < len(known) * len(budgets):
        raise InputError(f"the overheads of {model} on platform {on.name} lack some of the budgets")
    made = [_planned(bench, mine, budget, drawn) for budget in budgets]
    span_s = max([bench.unlimited_s, *(t.duration_s for _, t in filter(None, made))])
    return Explorer(
        f"plans-{on.name}",
        f"{model_title(model)} on {platform_title(on).replace('Platform', 'platform', 1)}",
        POLICIES[drawn],
        overhead_grid(mine, on),
        tuple(
            _stop(bench, mine, budget, drawn, found, span_s)
            for budget, found in zip(budgets, made, strict=True)
        ),
        min(range(len(budgets)), key=lambda i: abs(budgets[i] - 50)),
    )


def _planned(
    bench: Bench, rows: Sequence[Row], budget_pct: float, policy: str
) -> tuple[Plan, Timeline] | None:
    row, plan, timeline = row_of(bench, budget_pct, policy, detail=True)
    given = next(r for r in rows if (r.budget_pct, r.policy) == (budget_pct, policy))
    if not _agree(row.overhead_pct, given.overhead_pct):
        raise InputError(
            f"the overhead of {policy} for {row.model} on platform {row.platform} at "
            f"{budget_pct:g}% is {_said(row.overhead_pct)}, not {_said(given.overhead_pct)}: "
            "fig4.csv was made from other measurements or ratios; name those, or reproduce anew"
        )
    return (plan, timeline) if plan and timeline else None


def _agree(a: float | None, b: float | None) -> bool:
    """Whether two overheads are the same but for the digits that a CSV file leaves out."""
    if a is None or b is None:
        return a is b
    return isclose(a, b, rel_tol=1e-4, abs_tol=1e-3)


def _said(overhead_pct: float | None) -> str:
    return "none" if overhead_pct is None else f"{overhead_pct:.2f}%"


def _stop(
    bench: Bench,
    rows: Sequence[Row],
    budget_pct: float,
    policy: str,
    found: tuple[Plan, Timeline] | None,
    span_s: float,
) -> Stop:
    trace, on = bench.trace, bench.platform
    budget = format_bytes(bench.budget_bytes(budget_pct))
    head = f"{POLICIES[policy]} in {budget_pct:g}% of the memory ({budget})"
    costs = cost_grid(rows, on, budget_pct, strong=policy)
    if found is None:
        return Stop(budget_pct, f"{head}: no plan.", (costs,), None, None)
    plan, timeline = found
    slower_pct = 100 * (timeline.duration_s / bench.unlimited_s - 1)
    return Stop(
        budget_pct,
        f"{head}: {slower_pct:.1f}% longer than with unlimited memory.",
        (costs, action_grid(trace, on, plan)),
        chart(trace, on, plan, timeline, span_s),
        _download(bench, plan, timeline, f"{trace.model}-{on.name}-{budget_pct:g}"),
    )


def _download(bench: Bench, plan: Plan, timeline: Timeline, name: str) -> Download:
    data = gzip.compress(to_json(perfetto(bench.trace, plan, timeline)), mtime=0)
    return Download(
        f"{name}-{plan.policy}.json.gz",
        "data:application/gzip;base64," + b64encode(data).decode(),
        format_bytes(len(data)),
    )

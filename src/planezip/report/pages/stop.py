"""One position of the slider: a budget with the policy's plan, planned anew to be drawn."""

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
from planezip.report.grids import cost_grid
from planezip.report.names import POLICIES
from planezip.report.pages.drawing import Chart, chart
from planezip.report.planned import action_grid
from planezip.report.rows import Row
from planezip.simulation import perfetto
from planezip.units import format_bytes

_ANYTIME_POINTS = 1.0
"""By how much a plan made anew may differ: a search that ends by the clock ends elsewhere."""
_DIGITS_POINTS = 1e-3
"""By how much it differs because a CSV file leaves digits out."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file that the page carries."""

    name: str
    uri: str
    size: str


@dataclass(frozen=True, slots=True)
class Stop:
    """What the page shows of one budget.

    Attributes:
        said: the finding in one sentence.
        note: what the drawn plan does otherwise, if it is not the very one of the finding.
        grids: what all policies cost at this budget, and what the drawn plan does.
        chart, timeline: of the drawn plan; None if the policy has none.
    """

    budget_pct: float
    said: str
    note: str
    grids: tuple[Grid, ...]
    chart: Chart | None
    timeline: Download | None


@dataclass(frozen=True, slots=True)
class Replanned:
    """A row, and its plan made anew with its detailed timeline, if there is one."""

    row: Row
    made: tuple[Plan, Timeline] | None

    @property
    def duration_s(self) -> float:
        return self.made[1].duration_s if self.made else 0.0


def replan(bench: Bench, row: Row) -> Replanned:
    """Make the row's plan once more; InputError if its overhead is another one then."""
    again, plan, timeline = row_of(bench, row.budget_pct, row.policy, detail=True)
    if not _agree(again.overhead_pct, row.overhead_pct, _ANYTIME_POINTS):
        raise InputError(
            f"the overhead of {row.policy} for {row.model} on platform {row.platform} at "
            f"{row.budget_pct:g}% is {_said(again.overhead_pct)}, not {_said(row.overhead_pct)}: "
            "fig4.csv was made from other measurements or ratios; name those, or reproduce anew"
        )
    return Replanned(row, (plan, timeline) if plan and timeline else None)


def stop(bench: Bench, rows: Sequence[Row], drawn: Replanned, span_s: float) -> Stop:
    """Draw a plan on an axis of `span_s` seconds, beside what all policies' `rows` say."""
    trace, on, row = bench.trace, bench.platform, drawn.row
    budget = format_bytes(bench.budget_bytes(row.budget_pct))
    head = f"{POLICIES[row.policy]} in {row.budget_pct:g}% of the memory ({budget})"
    costs = cost_grid(rows, on, row.budget_pct, strong=row.policy)
    if drawn.made is None:
        return Stop(row.budget_pct, f"{head}: no plan.", "", (costs,), None, None)
    plan, timeline = drawn.made
    slower_pct = 100 * (timeline.duration_s / bench.unlimited_s - 1)
    note = ""
    if not _agree(slower_pct, row.overhead_pct, _DIGITS_POINTS):
        note = f"The plan drawn here was searched for anew and takes {slower_pct:.1f}% longer."
    return Stop(
        row.budget_pct,
        f"{head}: {row.overhead_pct:.1f}% longer than with unlimited memory.",
        note,
        (costs, action_grid(trace, on, plan)),
        chart(trace, on, plan, timeline, span_s),
        _download(bench, plan, timeline, f"{trace.model}-{on.name}-{row.budget_pct:g}"),
    )


def _agree(a: float | None, b: float | None, points: float) -> bool:
    """Whether two overheads are the same within so many points, or both none."""
    if a is None or b is None:
        return a is b
    return isclose(a, b, rel_tol=1e-4, abs_tol=points)


def _said(overhead_pct: float | None) -> str:
    return "none" if overhead_pct is None else f"{overhead_pct:.2f}%"


def _download(bench: Bench, plan: Plan, timeline: Timeline, name: str) -> Download:
    data = gzip.compress(to_json(perfetto(bench.trace, plan, timeline)), mtime=0)
    return Download(
        f"{name}-{plan.policy}.json.gz",
        "data:application/gzip;base64," + b64encode(data).decode(),
        format_bytes(len(data)),
    )

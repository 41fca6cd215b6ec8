"""One workload's plans over all budgets: what the page's slider moves through."""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.errors import InputError
from planezip.report.bench import Bench
from planezip.report.grid import Grid
from planezip.report.grids import overhead_grid
from planezip.report.names import POLICIES, model_title, platform_title
from planezip.report.pages.stop import Stop, replan, stop
from planezip.report.rows import Row

DRAWN = "planezip"
"""The policy whose plans are drawn unless another one is asked for."""
_START_PCT = 50


@dataclass(frozen=True, slots=True)
class Explorer:
    """All budgets of one workload on one platform, the smallest first.

    Attributes:
        name: the part of the page that it is, as an id.
        start: index of the stop that is shown first.
    """

    name: str
    title: str
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
    on, mine = bench.platform, _rows_of(bench, rows)
    known = [name for name in POLICIES if any(r.policy == name for r in mine)]
    drawn = policy if policy in known else known[-1]
    chosen = sorted((r for r in mine if r.policy == drawn), key=lambda r: r.budget_pct)
    plans = [replan(bench, row) for row in chosen]
    span_s = max([bench.unlimited_s, *(p.duration_s for p in plans)])
    return Explorer(
        f"plans-{on.name}",
        f"{model_title(bench.trace.model)} on p{platform_title(on)[1:]}",
        overhead_grid(mine, on),
        tuple(stop(bench, mine, plan, span_s) for plan in plans),
        min(range(len(chosen)), key=lambda i: abs(chosen[i].budget_pct - _START_PCT)),
    )


def _rows_of(bench: Bench, rows: Sequence[Row]) -> list[Row]:
    """Every policy at every budget."""
    model, name = bench.trace.model, bench.platform.name
    found = {
        (r.policy, r.budget_pct): r
        for r in rows
        if (r.model, r.platform) == (model, name) and r.policy in POLICIES
    }
    if not found:
        raise InputError(f"no overheads of {model} on platform {name} to show")
    policies, budgets = (set(part) for part in zip(*found, strict=True))
    if len(found) < len(policies) * len(budgets):
        raise InputError(f"the overheads of {model} on platform {name} lack some of the budgets")
    return list(found.values())

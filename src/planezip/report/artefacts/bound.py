"""How far every policy is from a bound that no plan of its class can beat (docs/bound.md)."""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.planning import PAPER_POLICIES
from planezip.records import PAPER_PLATFORMS
from planezip.records.measurements import PAPER_MODELS
from planezip.report.artefacts.artefact import Artefact
from planezip.report.artefacts.fig4 import at_every_budget
from planezip.report.grid import Grid, mean_of_all, number
from planezip.report.names import BOUND_CLASS
from planezip.report.names import POLICIES as TITLES
from planezip.report.study import Study


@dataclass(frozen=True, slots=True)
class Distance:
    """One policy and the bound for its transfers.

    Attributes:
        overhead_pct: over unlimited memory; None if the policy has no plan.
        bound_pct: overhead over unlimited memory that no plan of its class is below with these
            ratios; None if none fits the budget.
        over_bound_pct: by how many percent the iteration is longer than the bound.
    """

    model: str
    platform: str
    budget_pct: float
    policy: str
    overhead_pct: float | None
    bound_pct: float | None
    over_bound_pct: float | None


def _rows(study: Study) -> list[Distance]:
    tasks = [task for task in at_every_budget(study) if study.can(task)]
    bounds = study.bounds_pct(tasks)
    return [
        _row(row.model, row.platform, row.budget_pct, row.policy, row.overhead_pct, bounds[task])
        for task, row in zip(tasks, study.rows(tasks), strict=True)
    ]


def _row(
    model: str,
    name: str,
    budget: float,
    policy: str,
    overhead_pct: float | None,
    bound_pct: float | None,
) -> Distance:
    over = None
    if overhead_pct is not None and bound_pct is not None:
        over = 100 * ((100 + overhead_pct) / (100 + bound_pct) - 1)
    return Distance(model, name, budget, policy, overhead_pct, bound_pct, over)


def _grid(rows: Sequence[Distance]) -> Grid:
    found = {(r.platform, r.budget_pct, r.policy, r.model): r for r in rows}
    lines = []
    for name in PAPER_PLATFORMS:
        for budget in (50.0, 30.0):
            for policy in PAPER_POLICIES:
                five = [found.get((name, budget, policy, m)) for m in PAPER_MODELS]
                columns = ("overhead_pct", "bound_pct", "over_bound_pct")
                values = [[getattr(r, column, None) for r in five] for column in columns]
                means = [number(mean_of_all(v), 1) for v in values]
                lines.append([f"{name} {budget:g}%", TITLES[policy], *means])
    return Grid(
        "Mean overhead in % beside a lower bound",
        ("budget", "policy", "overhead", "bound", "over the bound"),
        lines,
        words=2,
        note=f"The bound of a policy is that of all plans with its transfers. {BOUND_CLASS}",
    )


BOUND = Artefact("bound", "Distance to the bound", Distance, _rows, _grid, tasks=at_every_budget)

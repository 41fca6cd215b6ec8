"""What compressing in place adds to PlaneZip, under both semantics of replays, beside the bound."""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.records import PAPER_PLATFORMS, platform
from planezip.records.measurements import PAPER_MODELS
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, mean_of_all, number
from planezip.report.names import POLICIES as TITLES
from planezip.report.study import Study, Task

POLICIES = ("planezip", "planezip+in-place")
BUDGETS_PCT = (50.0, 30.0)
SEMANTICS = {False: "freed", True: "kept"}
"""Whether what a replay recomputes stays -> what that is called (docs/model.md)."""


@dataclass(frozen=True, slots=True)
class InPlace:
    """One policy at one budget.

    Attributes:
        semantics: of replays, "freed" or "kept".
        overhead_pct: over unlimited memory; None if there is no plan.
        bound_pct: overhead that no plan is below which may do what the policy may; None if no plan
            fits.
        swapped_bytes: uncompressed bytes copied to the host; None if there is no plan.
    """

    model: str
    platform: str
    budget_pct: float
    policy: str
    semantics: str
    overhead_pct: float | None
    bound_pct: float | None
    swapped_bytes: int | None


def _tasks(study: Study) -> list[Task]:
    return [
        Task(model, platform(name), budget, policy, kept)
        for policy in POLICIES
        for kept in SEMANTICS
        for model in study.models()
        for name in PAPER_PLATFORMS
        for budget in BUDGETS_PCT
    ]


def _rows(study: Study) -> list[InPlace]:
    tasks = [task for task in _tasks(study) if study.can(task)]
    bounds = study.bounds_pct(tasks)
    return [
        InPlace(
            row.model,
            row.platform,
            row.budget_pct,
            row.policy,
            SEMANTICS[task.kept],
            row.overhead_pct,
            bounds[task],
            row.swapped_bytes,
        )
        for task, row in zip(tasks, study.rows(tasks), strict=True)
    ]


def _grid(rows: Sequence[InPlace]) -> Grid:
    found = {(r.platform, r.budget_pct, r.policy, r.semantics, r.model): r for r in rows}
    lines = []
    for name in PAPER_PLATFORMS:
        for budget in BUDGETS_PCT:
            line = [f"{name} {budget:g}%"]
            for semantics in SEMANTICS.values():
                for policy in POLICIES:
                    five = [found.get((name, budget, policy, semantics, m)) for m in PAPER_MODELS]
                    line.append(_mean(five, "overhead_pct"))
            for policy in POLICIES:
                five = [found.get((name, budget, policy, "kept", m)) for m in PAPER_MODELS]
                line.append(_mean(five, "bound_pct"))
            lines.append(line)
    heads = [f"{TITLES[p]}, {semantics}" for semantics in SEMANTICS.values() for p in POLICIES]
    return Grid(
        "Mean overhead in % without and with compression in place",
        ("budget", *heads, "bound", "bound, in place"),
        lines,
        note="Plans that compress in place are a larger class, whose bound is lower.",
    )


def _mean(five: Sequence[InPlace | None], column: str) -> str:
    return number(mean_of_all([getattr(row, column, None) for row in five]), 1)


IN_PLACE = Artefact("in_place", "Compression in place", InPlace, _rows, _grid, tasks=_tasks)

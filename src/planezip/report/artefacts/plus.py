"""PlaneZip+ beside what it starts from, the strongest policy without compression, and the bound."""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.planning import POLICIES
from planezip.records import PAPER_PLATFORMS, platform
from planezip.records.measurements import PAPER_MODELS
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, mean_of_all, number
from planezip.report.names import POLICIES as TITLES
from planezip.report.study import BUDGETS_PCT, Study, Task

COMPARED = (("bw", True), ("planezip", False), ("planezip", True), ("planezip+", True))
"""Policies, and whether what a replay recomputes may stay."""


@dataclass(frozen=True, slots=True)
class Found:
    """One policy at one budget.

    Attributes:
        semantics: of replays, "freed" or "kept" (docs/model.md).
        overhead_pct: over unlimited memory; None if there is no plan.
        bound_pct: overhead that no plan with these transfers is below; None if no plan fits.
        evaluations: how many plans a search may try, 0 for policies that do not search.
    """

    model: str
    platform: str
    budget_pct: float
    policy: str
    semantics: str
    overhead_pct: float | None
    bound_pct: float | None
    evaluations: int


def _tasks(study: Study) -> list[Task]:
    return [
        Task(model, platform(name), budget, policy, kept)
        for policy, kept in COMPARED
        for model in study.models()
        for name in PAPER_PLATFORMS
        for budget in BUDGETS_PCT
    ]


def _rows(study: Study) -> list[Found]:
    tasks = [task for task in _tasks(study) if study.can(task)]
    bounds = study.bounds_pct(tasks)
    return [
        Found(
            row.model,
            row.platform,
            row.budget_pct,
            row.policy,
            "kept" if task.kept else "freed",
            row.overhead_pct,
            bounds[task],
            study.effort.evaluations if POLICIES[row.policy].searches else 0,
        )
        for task, row in zip(tasks, study.rows(tasks), strict=True)
    ]


def _grid(rows: Sequence[Found]) -> Grid:
    found = {(r.platform, r.budget_pct, r.policy, r.semantics, r.model): r for r in rows}
    lines = []
    for name in PAPER_PLATFORMS:
        for budget in (50.0, 30.0):
            line = [f"{name} {budget:g}%"]
            for policy, kept in COMPARED:
                five = [
                    found.get((name, budget, policy, "kept" if kept else "freed", model))
                    for model in PAPER_MODELS
                ]
                line.append(_mean(five, "overhead_pct"))
            lines.append([*line, _mean(five, "bound_pct")])
    heads = [f"{TITLES[p]}{'' if p == 'planezip+' else _word(kept)}" for p, kept in COMPARED]
    return Grid(
        "Mean overhead in % of PlaneZip+ and what it is measured against",
        ("budget", *heads, "bound"),
        lines,
        note="The bound is that of PlaneZip's transfers.",
    )


def _word(kept: bool) -> str:
    return ", kept" if kept else ", freed"


def _mean(five: Sequence[Found | None], column: str) -> str:
    return number(mean_of_all([getattr(row, column, None) for row in five]), 1)


PLUS = Artefact("plus", "PlaneZip+", Found, _rows, _grid, tasks=_tasks)

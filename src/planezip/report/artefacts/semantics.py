"""Every policy if what replays recompute is freed after them, as in the paper, and if it stays."""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.planning import PAPER_POLICIES
from planezip.records import PAPER_PLATFORMS, platform
from planezip.records.measurements import PAPER_MODELS
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, mean_of_all, number
from planezip.report.names import POLICIES as TITLES
from planezip.report.study import BUDGETS_PCT, Study, Task

SEMANTICS = {"freed": False, "kept": True}


@dataclass(frozen=True, slots=True)
class Semantics:
    """Overhead of one policy; None if it has no plan within the budget.

    `semantics`: what a replay recomputes for another tensor is "freed" after it, or "kept" until
    its own last use where memory allows.
    """

    model: str
    platform: str
    budget_pct: float
    policy: str
    semantics: str
    overhead_pct: float | None


def _tasks(study: Study) -> list[Task]:
    return [
        Task(model, platform(name), budget, policy, kept)
        for kept in SEMANTICS.values()
        for model in study.models()
        for name in PAPER_PLATFORMS
        for budget in BUDGETS_PCT
        for policy in PAPER_POLICIES
    ]


def _rows(study: Study) -> list[Semantics]:
    tasks = [task for task in _tasks(study) if study.can(task)]
    return [
        Semantics(
            row.model,
            row.platform,
            row.budget_pct,
            row.policy,
            "kept" if task.kept else "freed",
            row.overhead_pct,
        )
        for task, row in zip(tasks, study.rows(tasks), strict=True)
    ]


def _grid(rows: Sequence[Semantics]) -> Grid:
    found = {
        (r.platform, r.budget_pct, r.policy, r.semantics, r.model): r.overhead_pct for r in rows
    }
    lines = []
    for name in PAPER_PLATFORMS:
        for budget in (50.0, 30.0):
            for policy in PAPER_POLICIES:
                line = [f"{name} {budget:g}%", TITLES[policy]]
                for semantics in SEMANTICS:
                    five = [found.get((name, budget, policy, semantics, m)) for m in PAPER_MODELS]
                    line.append(number(mean_of_all(five), 1))
                lines.append(line)
    return Grid(
        "Mean overhead in % by what happens to what a replay recomputes",
        ("budget", "policy", "freed", "kept"),
        lines,
        words=2,
        note="Freed after the replay is the paper's.",
    )


SEMANTICS_TABLE = Artefact(
    "semantics", "Both semantics of replays", Semantics, _rows, _grid, tasks=_tasks
)

"""Figure 4: every policy at every budget on both platforms; Section V-C's means."""

from collections.abc import Sequence
from statistics import mean

from planezip.planning import PAPER_POLICIES
from planezip.records import PAPER_PLATFORMS, platform
from planezip.records.measurements import PAPER_MODELS
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import POLICIES as TITLES
from planezip.report.names import model_title
from planezip.report.published import paper
from planezip.report.rows import Row
from planezip.report.study import BUDGETS_PCT, Study, Task


def at_every_budget(study: Study) -> list[Task]:
    """Every policy for every workload on the paper's platforms at figure 4's budgets."""
    return [
        Task(model, platform(name), budget, policy)
        for model in study.models()
        for name in PAPER_PLATFORMS
        for budget in BUDGETS_PCT
        for policy in PAPER_POLICIES
    ]


def _rows(study: Study) -> list[Row]:
    return study.rows(at_every_budget(study))


def overheads(rows: Sequence[Row], name: str, budget: float, policy: str) -> dict[str, float]:
    """Model -> overhead in %, where there is a plan."""
    return {
        r.model: r.overhead_pct
        for r in rows
        if (r.platform, r.budget_pct, r.policy) == (name, budget, policy)
        and r.overhead_pct is not None
    }


def _grid(rows: Sequence[Row]) -> Grid:
    models = [m for m in PAPER_MODELS if any(r.model == m for r in rows)]
    lines = []
    for name in PAPER_PLATFORMS:
        for budget in BUDGETS_PCT:
            for policy in PAPER_POLICIES:
                found = overheads(rows, name, budget, policy)
                five = [found[m] for m in PAPER_MODELS if m in found]
                ours = mean(five) if len(five) == len(PAPER_MODELS) else None
                theirs = paper().overhead_pct(name, budget, policy)
                cells = [number(found.get(m), 1) for m in models]
                lines.append(
                    [
                        f"{name} {budget:g}%",
                        TITLES[policy],
                        *cells,
                        number(ours, 1),
                        number(theirs, 1),
                    ]
                )
    return Grid(
        "Overhead over unlimited memory in %",
        ("budget", "policy", *map(model_title, models), "mean", "paper"),
        lines,
        words=2,
        note=_equal_note(rows),
    )


def _equal_note(rows: Sequence[Row]) -> str:
    found = {(r.model, r.platform, r.budget_pct, r.policy): r.overhead_pct for r in rows}
    pairs = [
        (found[*key, "recomp"], found[*key, "dte"])
        for key in dict.fromkeys(key[:3] for key in found)
        if key[0] in PAPER_MODELS and (*key, "dte") in found
    ]
    equal = sum(a == b for a, b in pairs)
    return (
        f"DTE takes as long as RECOMP in {equal} of {len(pairs)} configurations (paper: 58 of 70)."
    )


def _plot(rows: Sequence[Row]) -> dict[str, bytes]:
    from planezip.report.figures.budgets import budgets_figure

    titles = {name: platform(name).gpu for name in PAPER_PLATFORMS}
    return budgets_figure(rows, titles)


FIG4 = Artefact(
    "fig4", "Figure 4, throughput under a budget", Row, _rows, _grid, _plot, tasks=at_every_budget
)

"""Figure 5: where the gains come from, at a budget of 30 %; and both semantics of replays."""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.records import PAPER_PLATFORMS, platform
from planezip.records.measurements import PAPER_MODELS
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import VARIANTS
from planezip.report.published import paper
from planezip.report.study import Study, Task
from planezip.report.variants import ABLATION

BUDGET_PCT = 30.0


@dataclass(frozen=True, slots=True)
class MeanOverhead:
    """Mean over the five models; None where one of them has no ratios or no plan."""

    platform: str
    policy: str
    mean_overhead_pct: float | None


def _tasks(study: Study) -> list[Task]:
    return [
        Task(model, platform(name), BUDGET_PCT, policy)
        for model in PAPER_MODELS
        if model in study.models()
        for name in PAPER_PLATFORMS
        for policy in ABLATION
    ]


def _rows(study: Study) -> list[MeanOverhead]:
    study.run(_tasks(study))
    return [
        MeanOverhead(name, policy, study.mean_overhead_pct(platform(name), BUDGET_PCT, policy))
        for name in PAPER_PLATFORMS
        for policy in ABLATION
    ]


def _grid(rows: Sequence[MeanOverhead]) -> Grid:
    found = {(r.platform, r.policy): r.mean_overhead_pct for r in rows}
    lines = []
    for policy in ABLATION:
        line = [VARIANTS[policy]]
        for name in PAPER_PLATFORMS:
            line.append(number(found.get((name, policy)), 1))
            line.append(number(paper().figure5[name].get(policy), 1))
        lines.append(line)
    return Grid(
        "Mean overhead in % at a budget of 30 %",
        ("policy", *(h for name in PAPER_PLATFORMS for h in (name, "paper"))),
        lines,
        strong=ABLATION.index("planezip"),
    )


def _plot(rows: Sequence[MeanOverhead]) -> dict[str, bytes]:
    from planezip.report.figures.ablation import ablation_figure

    bars = {(r.platform, r.policy): r.mean_overhead_pct for r in rows}
    return ablation_figure(bars, list(ABLATION))


FIG5 = Artefact("fig5", "Figure 5, ablation", MeanOverhead, _rows, _grid, _plot, tasks=_tasks)

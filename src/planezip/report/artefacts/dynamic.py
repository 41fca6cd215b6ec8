"""Training on sequences of changing length: one plan per operator sequence, or online eviction."""

from collections.abc import Sequence

from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, mean_of_all, number
from planezip.report.names import DYNAMIC_POLICIES as TITLES
from planezip.report.names import model_title
from planezip.report.study import Study
from planezip.report.trainings import DynamicIteration, DynamicSummary, trainings


def _iteration_rows(study: Study) -> list[DynamicIteration]:
    return [row for done in trainings(study) for row in done.iterations]


def _summary_rows(study: Study) -> list[DynamicSummary]:
    return [done.summary for done in trainings(study)]


def _iteration_grid(rows: Sequence[DynamicIteration]) -> Grid:
    lengths = sorted({r.tokens for r in rows})
    found: dict[tuple[str, str, float, str], dict[int, list[float | None]]] = {}
    for r in rows:
        cells = found.setdefault((r.model, r.platform, r.budget_pct, r.policy), {})
        cells.setdefault(r.tokens, []).append(r.overhead_pct)
    return Grid(
        "Mean overhead in % by tokens of a sequence",
        ("model", "budget", "policy", *map(str, lengths)),
        [
            (
                model_title(model),
                f"{name} {budget:g}%",
                TITLES[policy],
                *(number(mean_of_all(cells.get(n, [])), 1) for n in lengths),
            )
            for (model, name, budget, policy), cells in found.items()
        ],
        words=3,
        note="The budget is a share of the longest sequence's peak.",
    )


def _summary_grid(rows: Sequence[DynamicSummary]) -> Grid:
    return Grid(
        "Overhead in % of training on sequences of changing length",
        ("model", "budget", "policy", "plans found", "all", "first sight", "later"),
        [
            (
                model_title(r.model),
                f"{r.platform} {r.budget_pct:g}%",
                TITLES[r.policy],
                _share(r.plan_hits, r.plan_misses),
                number(r.overhead_pct, 1),
                number(r.first_overhead_pct, 1),
                number(r.later_overhead_pct, 1),
            )
            for r in rows
        ],
        words=3,
    )


def _share(hits: int | None, misses: int | None) -> str:
    return "" if hits is None or misses is None else f"{hits} of {hits + misses}"


DYNAMIC = Artefact(
    "dynamic",
    "Changing sequences, every iteration",
    DynamicIteration,
    _iteration_rows,
    _iteration_grid,
)
DYNAMIC_SUMMARY = Artefact(
    "dynamic_summary",
    "Changing sequences, whole trainings",
    DynamicSummary,
    _summary_rows,
    _summary_grid,
)

"""Training on sequences of changing length: one plan per operator sequence, or online eviction."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from statistics import mean

from planezip.records import PAPER_PLATFORMS, peak_activation_bytes, platform
from planezip.records.measurements import LENGTH_MODELS
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import DYNAMIC_POLICIES as TITLES
from planezip.report.names import model_title
from planezip.report.processes import spread
from planezip.report.sequences import DYNAMIC_POLICIES, Iteration, OneLength, Ratios, Training
from planezip.report.sources import Source
from planezip.report.study import Study

BUDGETS_PCT = (50.0, 30.0)
"""Of the peak activation memory of the longest sequence."""
CAPTURED = 3
"""Captured iterations that are taken in turn."""


@dataclass(frozen=True, slots=True)
class DynamicIteration:
    """One iteration under one policy.

    Attributes:
        iteration: from 1 on.
        tokens: length of its sequences.
        sight: how often this length has run by then, this time included.
        way: what decided: "plan", "online", or "overflow" (online, since the plan did not fit).
        overhead_pct: over unlimited memory; None, as all below, if nothing made it fit.
        peak_bytes: of activation memory, never more than `budget_bytes`.
    """

    model: str
    platform: str
    budget_pct: float
    policy: str
    iteration: int
    tokens: int
    sight: int
    way: str
    overhead_pct: float | None
    recompute_s: float | None
    stall_s: float | None
    swapped_bytes: int | None
    peak_bytes: int | None
    budget_bytes: int


@dataclass(frozen=True, slots=True)
class DynamicSummary:
    """All iterations under one policy.

    Attributes:
        plan_hits, plan_misses: iterations whose sequence had a plan and had none; None where every
            iteration is decided online.
        overhead_pct: of the whole training; None if one of its iterations does not fit.
        first_overhead_pct, later_overhead_pct: of the iterations that met their sequence for the
            first time, and of the others.
    """

    model: str
    platform: str
    budget_pct: float
    policy: str
    plan_hits: int | None
    plan_misses: int | None
    overhead_pct: float | None
    first_overhead_pct: float | None
    later_overhead_pct: float | None


@dataclass(frozen=True, slots=True)
class _Group:
    """Trainings that share traces and budget."""

    model: str
    platform: str
    budget_pct: float


@dataclass(frozen=True, slots=True)
class _Done:
    summary: DynamicSummary
    iterations: list[DynamicIteration]


@lru_cache(maxsize=1)
def _trainings(study: Study) -> list[_Done]:
    """All trainings, spread over processes."""
    models = [m for m in LENGTH_MODELS if study.traces_by_length(m)]
    groups = [_Group(*key) for key in product(models, PAPER_PLATFORMS, BUDGETS_PCT)]
    jobs = min(study.jobs or len(os.sched_getaffinity(0)), len(groups))
    work = _Work(Study(study.folder, study.ratios, 1))
    results = spread(work.done, groups, jobs) if jobs > 1 else map(work.done, groups)
    return [done for group in results for done in group]


@dataclass(frozen=True, slots=True)
class _Work:
    """Runs the trainings of one group; travels to the worker processes."""

    study: Study

    def done(self, group: _Group) -> list[_Done]:
        on = platform(group.platform)
        traces = self.study.traces_by_length(group.model)
        lengths = {tokens: OneLength(trace, on) for tokens, trace in traces.items()}
        peak_bytes = peak_activation_bytes(traces[max(traces)], on.precision)
        budget_bytes = int(peak_bytes * group.budget_pct / 100)
        source = self.study.source(group.model)
        found = []
        for name, chosen in DYNAMIC_POLICIES.items():
            if chosen.codec and not source:
                continue
            measured = {n: list(_measured(o, source, chosen.codec)) for n, o in lengths.items()}
            training = Training(lengths, chosen, budget_bytes, measured)
            made = training.run()
            hits = (training.cache.hits, training.cache.misses) if chosen.plans else (None, None)
            head = (group.model, group.platform, group.budget_pct, name)
            rows = [_row(head, i, one, budget_bytes) for i, one in enumerate(made, start=1)]
            found.append(_Done(DynamicSummary(*head, *hits, *_overheads(made)), rows))
        return found


def _measured(length: OneLength, source: Source | None, codec: str | None) -> Iterator[Ratios]:
    """Ratios of consecutive iterations."""
    if codec is None or source is None:
        yield {}
        return
    for iteration in range(CAPTURED):
        yield source.ratios(length.trace, length.platform.precision, codec, iteration)


def _overheads(made: Sequence[Iteration]) -> tuple[float | None, float | None, float | None]:
    first = [one for one in made if one.sight == 1]
    later = [one for one in made if one.sight > 1]
    return _overhead_pct(made), _overhead_pct(first), _overhead_pct(later)


def _overhead_pct(made: Sequence[Iteration]) -> float | None:
    """Of all these iterations together, None if one does not fit."""
    seconds = [one.timeline.duration_s for one in made if one.timeline]
    if not made or len(seconds) < len(made):
        return None
    return 100 * (sum(seconds) / sum(one.unlimited_s for one in made) - 1)


def _row(
    head: tuple[str, str, float, str], number_: int, one: Iteration, budget_bytes: int
) -> DynamicIteration:
    t = one.timeline
    what = (
        (_overhead_pct([one]), t.recompute_s, t.stall_s, t.swapped_bytes, t.peak_bytes)
        if t
        else (None,) * 5
    )
    return DynamicIteration(*head, number_, one.tokens, one.sight, one.way, *what, budget_bytes)


def _iteration_rows(study: Study) -> list[DynamicIteration]:
    return [row for done in _trainings(study) for row in done.iterations]


def _summary_rows(study: Study) -> list[DynamicSummary]:
    return [done.summary for done in _trainings(study)]


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
                *(number(_mean(cells.get(n, [])), 1) for n in lengths),
            )
            for (model, name, budget, policy), cells in found.items()
        ],
        words=3,
        note="The budget is a share of the longest sequence's peak.",
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known and len(known) == len(values) else None


def _summary_grid(rows: Sequence[DynamicSummary]) -> Grid:
    return Grid(
        "Overhead in % of training on sequences of changing length",
        ("model", "budget", "policy", "plans found", "all", "first sight", "later"),
        [
            (
                model_title(r.model),
                f"{r.platform} {r.budget_pct:g}%",
                TITLES[r.policy],
                "" if r.plan_hits is None else f"{r.plan_hits} of {r.plan_hits + r.plan_misses}",
                number(r.overhead_pct, 1),
                number(r.first_overhead_pct, 1),
                number(r.later_overhead_pct, 1),
            )
            for r in rows
        ],
        words=3,
    )


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

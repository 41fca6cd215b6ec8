"""Trainings on sequences of changing length over all measured workloads, as rows."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from planezip.planning import CacheReport
from planezip.records import PAPER_PLATFORMS, peak_activation_bytes, platform
from planezip.records.measurements import LENGTH_MODELS
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


Head = tuple[str, str, float, str]
"""Model, platform, budget in percent, policy."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Trainings that share traces and budget."""

    model: str
    platform: str
    budget_pct: float


@dataclass(frozen=True, slots=True)
class TrainingRows:
    summary: DynamicSummary
    iterations: list[DynamicIteration]


@lru_cache(maxsize=1)
def trainings(study: Study) -> list[TrainingRows]:
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

    def done(self, group: _Group) -> list[TrainingRows]:
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
            head = (group.model, group.platform, group.budget_pct, name)
            rows = [_row(head, i, one, budget_bytes) for i, one in enumerate(made, start=1)]
            found.append(
                TrainingRows(_summary(head, training.cache if chosen.plans else None, made), rows)
            )
        return found


def _measured(length: OneLength, source: Source | None, codec: str | None) -> Iterator[Ratios]:
    """Ratios of consecutive iterations."""
    if codec is None or source is None:
        yield {}
        return
    for iteration in range(CAPTURED):
        yield source.ratios(length.trace, length.platform.precision, codec, iteration)


def _summary(head: Head, cache: CacheReport | None, made: Sequence[Iteration]) -> DynamicSummary:
    return DynamicSummary(
        *head,
        plan_hits=cache.hits if cache else None,
        plan_misses=cache.misses if cache else None,
        overhead_pct=_overhead_pct(made),
        first_overhead_pct=_overhead_pct([one for one in made if one.sight == 1]),
        later_overhead_pct=_overhead_pct([one for one in made if one.sight > 1]),
    )


def _overhead_pct(made: Sequence[Iteration]) -> float | None:
    """Of all these iterations together, None if one does not fit."""
    seconds = [one.timeline.duration_s for one in made if one.timeline]
    if not made or len(seconds) < len(made):
        return None
    return 100 * (sum(seconds) / sum(one.unlimited_s for one in made) - 1)


def _row(head: Head, count: int, one: Iteration, budget_bytes: int) -> DynamicIteration:
    t = one.timeline
    return DynamicIteration(
        *head,
        iteration=count,
        tokens=one.tokens,
        sight=one.sight,
        way=one.way,
        overhead_pct=_overhead_pct([one]),
        recompute_s=t.recompute_s if t else None,
        stall_s=t.stall_s if t else None,
        swapped_bytes=t.swapped_bytes if t else None,
        peak_bytes=t.peak_bytes if t else None,
        budget_bytes=budget_bytes,
    )

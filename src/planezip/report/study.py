"""Plans and simulations over all measured workloads, spread over processes, each made once."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import isinf
from statistics import mean

from planezip.planning import Effort
from planezip.records import Platform, Trace
from planezip.records.measurements import PAPER_MODELS, Measurements
from planezip.report.bench import REPEATABLE, Bench
from planezip.report.evaluate import row_of
from planezip.report.processes import spread
from planezip.report.rows import Row
from planezip.report.sources import Captured, PaperTable, RatioKind, Source
from planezip.report.variants import variant

BUDGETS_PCT = (90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0)
"""Figure 4's."""

Progress = Callable[[int, int], None]
"""Called with (done, total)."""


@dataclass(frozen=True, slots=True)
class Task:
    """One variant of a policy at one budget for one workload on one platform.

    Attributes:
        kept: what a replay recomputes stays (docs/model.md), unlike in the paper.
    """

    model: str
    platform: Platform
    budget_pct: float
    policy: str
    kept: bool = False


@dataclass(frozen=True)
class Study(Measurements):
    """Measurements, and how plans over them are made.

    Attributes:
        ratios: where compression ratios come from.
        jobs: processes; None for as many as there are processors.
        effort: how long policies that search look.
    """

    ratios: RatioKind = "captured"
    jobs: int | None = None
    effort: Effort = REPEATABLE
    _rows: dict[Task, Row] = field(default_factory=dict, compare=False, repr=False)

    def source(self, model: str) -> Source | None:
        """The ratios of a workload, None if it was not captured."""
        if self.ratios == "paper":
            return PaperTable()
        capture = self.capture(model)
        return Captured(capture) if capture else None

    def can(self, task: Task) -> bool:
        """Whether the trace and the ratios that a task takes are there."""
        chosen = variant(task.policy)
        if not self.path(task.model, "trace").exists():
            return False
        if self.ratios == "paper":
            return not chosen.captured
        return chosen.codec is None or self.path(task.model, "trained").exists()

    def run(self, tasks: Iterable[Task], progress: Progress | None = None) -> None:
        """Plan and simulate what has not been yet."""
        missing = [t for t in dict.fromkeys(tasks) if t not in self._rows and self.can(t)]
        if not missing:
            return
        groups: dict[tuple[str, Platform, bool, float], list[Task]] = {}
        for task in missing:
            groups.setdefault((task.model, task.platform, task.kept, task.budget_pct), []).append(
                task
            )
        batches = list(groups.values())
        jobs = min(self.jobs or len(os.sched_getaffinity(0)), len(batches))
        work = _Work(Study(self.folder, self.ratios, 1, self.effort))
        done = 0
        results = spread(work.rows, batches, jobs) if jobs > 1 else map(work.rows, batches)
        for batch, rows in zip(batches, results, strict=True):
            self._rows.update(zip(batch, rows, strict=True))
            done += len(batch)
            if progress:
                progress(done, len(missing))

    def rows(self, tasks: Sequence[Task]) -> list[Row]:
        """Rows of the tasks in their order, without those for which ratios are not there."""
        self.run(tasks)
        return [self._rows[task] for task in tasks if task in self._rows]

    def bounds_pct(self, tasks: Sequence[Task]) -> dict[Task, float | None]:
        """The bound of the overhead with a task's transfers; None if no plan of its class fits.

        Tasks that share workload, platform, budget, codec and class of plans share the bound.
        """
        shared = {t: _problem(t) for t in tasks}
        problems = list(dict.fromkeys(shared.values()))
        jobs = min(self.jobs or len(os.sched_getaffinity(0)), len(problems))
        work = _Work(Study(self.folder, self.ratios, 1, self.effort))
        found = (
            spread(work.bound_pct, problems, jobs) if jobs > 1 else map(work.bound_pct, problems)
        )
        bounds = dict(zip(problems, found, strict=True))
        return {task: bounds[shared[task]] for task in tasks}

    def mean_overhead_pct(
        self, platform: Platform, budget_pct: float, policy: str, kept: bool = False
    ) -> float | None:
        """Mean over the paper's five models, None if any of them has no plan or was not run."""
        rows = self.rows([Task(m, platform, budget_pct, policy, kept) for m in PAPER_MODELS])
        overheads = [row.overhead_pct for row in rows if row.overhead_pct is not None]
        return mean(overheads) if len(overheads) == len(PAPER_MODELS) else None


@dataclass(frozen=True, slots=True)
class _Bounded:
    """What tasks with the same bound share: the plans that may compress in place or not, and
    whatever the policy or the semantics."""

    task: Task
    codec: str | None
    in_place: bool


def _problem(task: Task) -> _Bounded:
    chosen = variant(task.policy)
    shared = replace(task, policy="", kept=False)
    return _Bounded(shared, chosen.codec, chosen.policy.in_place)


class _Work:
    """Does the tasks of one bench; travels to the worker processes."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._trace: tuple[str, Trace] | None = None
        self._bench: tuple[tuple[str, Platform, bool], Bench] | None = None

    def rows(self, batch: Sequence[Task]) -> list[Row]:
        bench = self._bench_of(batch[0])
        return [row_of(bench, task.budget_pct, task.policy)[0] for task in batch]

    def bound_pct(self, of: _Bounded) -> float | None:
        bench = self._bench_of(of.task)
        budget_bytes = bench.budget_bytes(of.task.budget_pct)
        bound_s = bench.lower_bound_s(budget_bytes, of.codec, of.in_place)
        return None if isinf(bound_s) else 100 * (bound_s / bench.unlimited_s - 1)

    def _bench_of(self, task: Task) -> Bench:
        key = (task.model, task.platform, task.kept)
        if self._bench is None or self._bench[0] != key:
            if self._trace is None or self._trace[0] != task.model:
                self._trace = (task.model, self._study.trace(task.model))
            source = self._study.source(task.model)
            bench = Bench(self._trace[1], task.platform, source, task.kept, self._study.effort)
            self._bench = (key, bench)
        return self._bench[1]

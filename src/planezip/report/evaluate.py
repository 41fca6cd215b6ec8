"""Every policy at every budget on every platform: one row each (paper V-C, figure 4)."""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import product

from planezip.errors import PlanOverflowError
from planezip.planning import PAPER_POLICIES
from planezip.planning import policy as policy_named
from planezip.records import Capture, Plan, Platform, Timeline, Trace
from planezip.report.bench import Bench
from planezip.report.processes import spread
from planezip.report.rows import INFEASIBLE, Outcome, Row
from planezip.report.sources import Source
from planezip.report.variants import variant

BUDGETS_PCT = (90.0, 70.0, 50.0, 30.0)
DETAIL_PCT = 50.0
"""The budget whose outcomes carry their plans and detailed timelines."""
WORTH_A_PROCESS = 5_000
"""Operators to plan, over all combinations, from which more processes save more than they cost."""

Progress = Callable[[int, int], None]
"""Called with (done, total)."""
Combination = tuple[str, float, str]  # platform, budget in percent, policy


def evaluate(
    trace: Trace,
    capture: Capture | Source | None,
    platforms: Sequence[Platform],
    budgets_pct: Sequence[float] = BUDGETS_PCT,
    policies: Sequence[str] = PAPER_POLICIES,
    progress: Progress | None = None,
    workers: int | None = None,
) -> list[Outcome]:
    """Plan and simulate every combination, in the order platform, budget, policy.

    Args:
        capture: ratios of consecutive iterations: the first to plan with, the second to transfer
            with; or another source of ratios. None: nothing compresses.
        progress: called after every combination.
        workers: processes to spread the work over; by default as many as are worth their start.

    Raises:
        InputError: a policy is unknown, or the capture is not of the trace's model.
    """
    for name in policies:
        policy_named(name)
    combinations = list(product([p.name for p in platforms], budgets_pct, policies))
    if workers is None:
        worth = len(combinations) * len(trace.ops) > WORTH_A_PROCESS
        workers = len(os.sched_getaffinity(0)) if worth else 1
    outcomes = []
    for outcome in _run(_Benches(trace, capture, platforms), combinations, workers):
        outcomes.append(outcome)
        if progress:
            progress(len(outcomes), len(combinations))
    return outcomes


class _Benches:
    """A bench a platform, made when first needed; travels to the worker processes."""

    def __init__(
        self, trace: Trace, capture: Capture | Source | None, platforms: Sequence[Platform]
    ) -> None:
        self._inputs = (trace, capture)
        self._platforms = {p.name: p for p in platforms}
        self._benches: dict[str, Bench] = {}

    def outcome(self, combination: Combination) -> Outcome:
        platform, budget_pct, policy = combination
        if platform not in self._benches:
            trace, capture = self._inputs
            self._benches[platform] = Bench(trace, self._platforms[platform], capture)
        return evaluate_one(self._benches[platform], budget_pct, policy)


def evaluate_one(bench: Bench, budget_pct: float, policy: str) -> Outcome:
    """Plan and simulate one combination."""
    detail = budget_pct == DETAIL_PCT
    row, plan, timeline = row_of(bench, budget_pct, policy, detail)
    return Outcome(row, plan, timeline) if detail else Outcome(row)


def row_of(
    bench: Bench, budget_pct: float, policy: str, detail: bool = False
) -> tuple[Row, Plan | None, Timeline | None]:
    """Plan with a policy or variant and simulate; the row, and what it was made from."""
    head = (bench.trace.model, bench.platform.name, budget_pct, policy)
    plan = bench.best_plan(policy, bench.budget_bytes(budget_pct))
    timeline = run_if_it_fits(bench, plan, policy, detail) if plan else None
    if plan is None or timeline is None:
        return Row(*head, None, None, None, None, None, INFEASIBLE), None, None
    slowdown = timeline.duration_s / bench.unlimited_s
    row = Row(
        *head,
        overhead_pct=100 * (slowdown - 1),
        throughput_norm=1 / slowdown,
        swapped_bytes=timeline.swapped_bytes,
        recompute_s=timeline.recompute_s,
        stall_s=timeline.stall_s,
        kept_plan=plan.candidate,
    )
    return row, plan, timeline


def run_if_it_fits(bench: Bench, plan: Plan, policy: str, detail: bool) -> Timeline | None:
    """The plan with the next iteration's ratios; None if it overflows where the plan did not."""
    try:
        return bench.run(plan, detail, variant(policy).codec)
    except PlanOverflowError:
        return None


def _run(benches: _Benches, combinations: list[Combination], workers: int) -> Iterator[Outcome]:
    if workers == 1:
        return map(benches.outcome, combinations)
    return spread(benches.outcome, combinations, workers)

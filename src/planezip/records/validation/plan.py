"""A plan whose numbers mean something, alone and for a trace; what came of it likewise.

That the plan is right, too, is for the checker of plans to prove.
"""

from collections.abc import Iterable

from planezip.errors import InputError
from planezip.records.plan import Plan
from planezip.records.timeline import Timeline
from planezip.records.trace import Trace
from planezip.records.validation.numbers import check_count, check_ratio, is_count


def validate_plan(plan: Plan) -> None:
    """InputError names the first step, swap or storage that cannot be."""
    check_count(plan.budget_bytes, "the budget")
    check_count(plan.evaluations, "the number of plans tried")
    check_count(plan.seed, "the seed")
    _check_seconds(plan.predicted_s, "the predicted duration")
    if plan.ratios.keys() != plan.actions.keys():
        odd = min(plan.ratios.keys() ^ plan.actions.keys())
        raise InputError(f"storage {odd} does not have both an action and a ratio")
    for s, ratio in plan.ratios.items():
        check_ratio(ratio, f"the ratio of storage {s}")
    for index, step in enumerate(plan.steps):
        numbers = (step.op, step.replay_for + 1, *step.into, *step.free)
        if not all(map(is_count, numbers)):
            raise InputError(f"step {index} holds a number below zero")
    times = range(-1, len(plan.steps))
    for w in plan.swaps:
        if not _within((w.out_after, w.release_after, w.prefetch_before, w.needed_by), times):
            raise InputError(f"the swap of storage {w.storage} names a step that there isn't")


def fits(plan: Plan, trace: Trace) -> bool:
    """Whether every model, operator, storage and buffer that the plan names is the trace's."""
    storages = range(len(trace.storages))
    buffers = range(len(storages) + len(plan.scratch))
    return (
        plan.model == trace.model
        and _within(plan.actions, storages)
        and _within((*plan.scratch, *plan.stays), storages)
        and _within((swap.storage for swap in plan.swaps), storages)
        and _within((step.op for step in plan.steps), range(len(trace.ops)))
        and _within((step.replay_for for step in plan.steps), range(-1, len(storages)))
        and all(_within((*step.into, *step.free), buffers) for step in plan.steps)
    )


def validate_timeline(timeline: Timeline) -> None:
    """InputError names the first duration or size that cannot be."""
    for name in ("duration_s", "recompute_s", "stall_s"):
        _check_seconds(getattr(timeline, name), name)
    for name in ("peak_bytes", "swapped_bytes", "wire_bytes"):
        check_count(getattr(timeline, name), name)
    for index, event in enumerate(timeline.events):
        if not 0 <= event.start_s <= event.end_s:
            raise InputError(f"event {index} lasts from {event.start_s} to {event.end_s} s")


def _check_seconds(value: float, what: str) -> None:
    if not 0 <= value < float("inf"):
        raise InputError(f"{what} is {value} s")


def _within(numbers: Iterable[int], known: range) -> bool:
    return all(n in known for n in numbers)

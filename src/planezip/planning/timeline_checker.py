"""Checks a timeline against its plan from the events alone; shares nothing with the simulator."""

from collections.abc import Mapping
from itertools import accumulate, pairwise

from planezip.errors import PlanCheckError
from planezip.records import Event, Plan, Platform, Timeline, Trace, compressed_bytes
from planezip.records.trace import BUDGETED_KINDS

_TOLERANCE_S = 1e-9


def check_timeline(
    trace: Trace,
    platform: Platform,
    plan: Plan,
    timeline: Timeline,
    ratios: Mapping[int, float] | None = None,
) -> None:
    """Prove order, exclusiveness of streams, availability of swapped data, and the hard budget.

    Args:
        timeline: simulated with detail.
        ratios: those that it was simulated with; by default the plan's.

    Raises:
        PlanCheckError: names the rule that is broken.
    """
    compute = [e for e in timeline.events if e.stream == "compute" and e.kind != "stall"]
    if [e.step for e in compute] != list(range(len(plan.steps))):
        raise PlanCheckError("the timeline does not run every step once, in order")
    for stream in ("compute", "d2h", "h2d"):
        _check_exclusive([e for e in timeline.events if e.stream == stream])
    in_place = {w.storage for w in plan.swaps if w.in_place}
    out = {e.storage: e for e in timeline.events if e.kind == _kinds(e, in_place)[0]}
    back = {e.storage: e for e in timeline.events if e.kind == _kinds(e, in_place)[1]}
    for w in plan.swaps:
        _check_swap(w.storage, compute, w.out_after, w.needed_by, out, back)
    ratios = plan.ratios if ratios is None else ratios
    changes = _memory_changes(trace, platform, plan, ratios, compute, out, back)
    # Between events of the same time the order is the simulator's business: frees first give the
    # least that it can have used, allocations first the most.
    least = _peak_bytes(sorted(changes))
    most = _peak_bytes(sorted(changes, key=lambda change: (change[0], -change[1])))
    if max(least, timeline.peak_bytes) > plan.budget_bytes:
        raise PlanCheckError(f"memory reaches {least} of a budget of {plan.budget_bytes}")
    if not least <= timeline.peak_bytes <= most:
        raise PlanCheckError(f"peak is {least} to {most}, not {timeline.peak_bytes} as said")


def _check_exclusive(events: list[Event]) -> None:
    for before, after in pairwise(events):
        if after.start_s < before.end_s - _TOLERANCE_S:
            raise PlanCheckError(f"{before} and {after} overlap on one stream")


def _kinds(event: Event, in_place: set[int]) -> tuple[str, str]:
    """What the copies of the event's storage are called."""
    return ("encode", "decode") if event.storage in in_place else ("swap_out", "swap_in")


def _check_swap(
    storage: int,
    compute: list[Event],
    out_after: int,
    needed_by: int,
    out: dict[int, Event],
    back: dict[int, Event],
) -> None:
    if storage not in out or storage not in back:
        raise PlanCheckError(f"storage {storage} is not copied out and back")
    final_s = compute[out_after].end_s if out_after >= 0 else 0.0
    if out[storage].start_s < final_s - _TOLERANCE_S:
        raise PlanCheckError(f"storage {storage} is copied out before it is final")
    if back[storage].start_s < out[storage].end_s - _TOLERANCE_S:
        raise PlanCheckError(f"storage {storage} is copied back before it is out")
    if compute[needed_by].start_s < back[storage].end_s - _TOLERANCE_S:
        raise PlanCheckError(f"step {needed_by} reads storage {storage} before it is back")


def _memory_changes(
    trace: Trace,
    platform: Platform,
    plan: Plan,
    ratios: Mapping[int, float],
    compute: list[Event],
    out: dict[int, Event],
    back: dict[int, Event],
) -> list[tuple[float, int]]:
    """Every allocation and free that the events imply, as (seconds, change in bytes)."""
    storages = [*trace.storages, *(trace.storages[s] for s in plan.scratch)]
    sizes = [s.bytes_at(platform.precision) if s.kind in BUDGETED_KINDS else 0 for s in storages]
    changes: list[tuple[float, int]] = []
    resident = {
        s
        for op in trace.ops
        if not op.is_view
        for s in (*op.reads, *op.writes)
        if trace.storages[s].kind == "input"
    }
    changes += [(0.0, sizes[s]) for s in resident]
    for step, event in zip(plan.steps, compute, strict=True):
        new = set(step.into) - resident
        changes += [(event.start_s, sizes[b]) for b in new]
        changes += [(event.end_s, -sizes[b]) for b in step.free]
        resident = (resident | new) - set(step.free)
    for w in plan.swaps:
        size, held = sizes[w.storage], 0
        if w.in_place:
            held = compressed_bytes(size, ratios.get(w.storage, 1.0))
        released_s = compute[w.release_after].end_s if w.release_after >= 0 else 0.0
        changes.append((max(released_s, out[w.storage].end_s), held - size))
        changes.append((back[w.storage].start_s, size))
        changes.append((back[w.storage].end_s, -held))
    return changes


def _peak_bytes(changes: list[tuple[float, int]]) -> int:
    return max(accumulate(change for _, change in changes), default=0)

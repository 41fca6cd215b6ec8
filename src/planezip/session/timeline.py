"""What a planned pass did when, beside what was predicted, in the simulator's own record."""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planezip.execution.journal import Entry, Journal
from planezip.execution.schedule import Schedule
from planezip.records import Event, Plan, Timeline, Trace, to_json, write_atomically
from planezip.records.timeline import Stream
from planezip.session.planning import Rates, predicted_timeline
from planezip.session.sequences import Known
from planezip.simulation import perfetto

_STREAMS: dict[str, Stream] = {
    "op": "compute",
    "replay": "compute",
    "stall": "compute",
    "swap_out": "d2h",
    "encode": "d2h",
    "swap_in": "h2d",
    "decode": "h2d",
}


@dataclass(frozen=True)
class SessionTimeline:
    """One planned iteration, measured and predicted.

    In what was measured, copies of several workers may overlap on one stream, and operators are
    slower than in later passes, since all that happens is written down.
    """

    trace: Trace
    plan: Plan
    measured: Timeline
    predicted: Timeline

    def perfetto(self) -> dict[str, Any]:
        """Trace-event JSON that https://ui.perfetto.dev loads: both, one above the other."""
        rows: list[dict[str, Any]] = []
        for pid, name in ((1, "measured"), (2, "predicted")):
            made = perfetto(self.trace, self.plan, getattr(self, name))
            for row in made["traceEvents"]:
                row["pid"] = pid
                if row["name"] == "process_name":
                    row["args"]["name"] = f"{name}: {self.plan.model} within the budget"
            rows += made["traceEvents"]
        return {"traceEvents": rows, "displayTimeUnit": "ms"}

    def save(self, path: str | Path) -> None:
        """Write `perfetto()` to a file."""
        write_atomically(path, to_json(self.perfetto()))


def timeline_of(known: Known, rates: Rates) -> SessionTimeline:
    """Both timelines of a sequence whose plan has run."""
    assert known.measured is not None
    schedule = known.schedule
    measured = _measured_timeline(known.measured, schedule)
    predicted = predicted_timeline(schedule.trace, schedule.plan, rates)
    return SessionTimeline(schedule.trace, schedule.plan, measured, predicted)


def _measured_timeline(measured: Journal, schedule: Schedule) -> Timeline:
    events = sorted(_events(measured, schedule), key=lambda e: (e.start_s, e.end_s, e.stream))
    out = {e.storage for e in events if e.kind == "swap_out"}
    sizes = {s: schedule.trace.storages[s].bytes for s in out}
    return Timeline(
        duration_s=measured.end_s - measured.start_s,
        recompute_s=_sum(events, "replay"),
        stall_s=_sum(events, "stall"),
        peak_bytes=measured.peak_bytes,
        swapped_bytes=sum(sizes.values()),
        wire_bytes=round(sum(size / schedule.plan.ratios[s] for s, size in sizes.items())),
        events=tuple(events),
        memory=tuple((when_s - measured.start_s, used) for when_s, used in measured.memory),
    )


def _events(measured: Journal, schedule: Schedule) -> Iterator[Event]:
    """What happened in the plan's terms; what makes no tensor has no step and is left out."""
    own, replays = _steps(schedule.plan)
    for entry in measured.entries:
        step = -1
        if entry.op >= 0:
            if entry.op >= len(schedule.op_of):
                continue
            op = schedule.op_of[entry.op]
            again = replays[op] if entry.kind == "replay" else None
            step = again.popleft() if again else own.get(op, -1)
            if step < 0:
                continue
        yield _event(entry, measured.start_s, step)


def _event(entry: Entry, start_s: float, step: int) -> Event:
    return Event(
        entry.start_s - start_s,
        entry.end_s - start_s,
        _STREAMS[entry.kind],
        entry.kind,
        step,
        entry.storage,
    )


def _steps(plan: Plan) -> tuple[dict[int, int], defaultdict[int, deque[int]]]:
    """Operator -> its own step, and its steps in replays."""
    own: dict[int, int] = {}
    replays: defaultdict[int, deque[int]] = defaultdict(deque)
    for index, step in enumerate(plan.steps):
        if step.replay_for >= 0:
            replays[step.op].append(index)
        else:
            own[step.op] = index
    return own, replays


def _sum(events: list[Event], kind: str) -> float:
    return sum(e.end_s - e.start_s for e in events if e.kind == kind)

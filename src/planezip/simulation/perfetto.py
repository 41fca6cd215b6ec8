"""A timeline in the trace-event JSON that https://ui.perfetto.dev and chrome://tracing load."""

from typing import Any

from planezip.records import Event, Plan, Timeline, Trace

_TRACKS = {"compute": 1, "d2h": 2, "h2d": 3}
_TRACK_NAMES = {1: "compute", 2: "device to host", 3: "host to device"}
_MICROSECONDS = 1e6


def perfetto(trace: Trace, plan: Plan, timeline: Timeline) -> dict[str, Any]:
    """Three tracks (compute and both copy queues) and counters for memory and budget.

    Args:
        timeline: simulated with detail; times become microseconds, the format's unit.
    """
    rows: list[dict[str, Any]] = [
        _metadata("process_name", 0, f"{plan.model} on {plan.platform}, {plan.policy}")
    ]
    rows += [_metadata("thread_name", track, name) for track, name in _TRACK_NAMES.items()]
    rows += [_slice(trace, plan, event) for event in timeline.events]
    rows += [
        {
            "ph": "C",
            "pid": 1,
            "name": "activation memory",
            "ts": time_s * _MICROSECONDS,
            "args": {"used_bytes": used, "free_bytes": plan.budget_bytes - used},
        }
        for time_s, used in timeline.memory
    ]
    return {"traceEvents": rows, "displayTimeUnit": "ms"}


def _metadata(what: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": 1, "tid": track, "name": what, "args": {"name": name}}


def _slice(trace: Trace, plan: Plan, event: Event) -> dict[str, Any]:
    return {
        "ph": "X",
        "pid": 1,
        "tid": _TRACKS[event.stream],
        "name": _label(trace, plan, event),
        "cat": event.kind,
        "ts": event.start_s * _MICROSECONDS,
        "dur": (event.end_s - event.start_s) * _MICROSECONDS,
        "args": _details(trace, plan, event),
    }


def _label(trace: Trace, plan: Plan, event: Event) -> str:
    if event.stream != "compute":
        return f"{event.kind.replace('_', ' ')} {event.storage}"
    if event.kind == "stall":
        return "stall: memory" if event.storage < 0 else f"stall: prefetch of {event.storage}"
    name = trace.ops[plan.steps[event.step].op].name
    return name if event.kind == "op" else f"replay {name}"


def _details(trace: Trace, plan: Plan, event: Event) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if event.storage >= 0:
        storage = trace.storages[event.storage]
        producer = trace.ops[storage.producer].name if storage.producer >= 0 else "batch"
        details = {"storage": storage.id, "bytes_as_traced": storage.bytes, "producer": producer}
    if event.step >= 0:
        op = trace.ops[plan.steps[event.step].op]
        details |= {"op": op.index, "phase": op.phase}
    return details

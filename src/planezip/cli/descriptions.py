"""What `planezip inspect` says about each kind of file."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from planezip.cli.stream_descriptions import (
    Description,
    archive_description,
    pairs,
    sequence_description,
    stream_description,
)
from planezip.codec.archives import archive_of
from planezip.codec.archives.reader import as_file
from planezip.codec.archives.region import opened
from planezip.codec.format import MAGIC, SEQUENCE_MAGIC
from planezip.errors import CorruptStreamError, InputError
from planezip.records import (
    Capture,
    Plan,
    Timeline,
    Trace,
    from_json,
    peak_activation_bytes,
    read_json,
)
from planezip.report.grid import Grid
from planezip.report.grids import ratio_grid, trace_grid
from planezip.report.ratios import ratios
from planezip.report.summary import summarise


def describe_file(path: Path, tensor: str | None = None) -> Description:
    """Tell what a file is and what it holds; of an archive, perhaps one tensor only.

    Raises:
        InputError: the file is unreadable, damaged, or none of the kinds.
    """
    with opened(path) as file:
        try:
            if kind := archive_of(path):
                return archive_description(file, kind, tensor)
            if tensor is not None:
                raise InputError(f"{path} is no archive; leave out --tensor")
            beginning = file[: len(SEQUENCE_MAGIC)].tobytes()
            if beginning == SEQUENCE_MAGIC:
                return sequence_description(file)
            if beginning.startswith(MAGIC):
                return stream_description(file)
        except CorruptStreamError as error:
            raise InputError(f"cannot inspect {path}: {error}") from None
        text = read_json(as_file(file), str(path))
    for kind_of, (members, tell) in _RECORDS.items():
        if members <= _members(text):
            return tell(str(path), from_json(text, kind_of, str(path)))
    raise InputError(f"{path} is no PlaneZip stream, archive, trace, capture, plan or timeline")


def _members(text: bytes) -> set[str]:
    try:
        return set(msgspec.json.decode(text, type=dict[str, msgspec.Raw]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return set()


def _trace(name: str, trace: Trace) -> Description:
    summary = summarise(trace)
    kinds = Counter(s.kind for s in trace.storages)
    sizes = {kind: sum(s.bytes for s in trace.storages if s.kind == kind) for kind in kinds}
    phases = Counter(op.phase for op in trace.ops)
    peak = {p: peak_activation_bytes(trace, p) for p in ("fp32", "bf16")}
    facts = {
        "summary": asdict(summary),
        "ops_by_phase": dict(phases),
        "storages_by_kind": dict(kinds),
        "peak_bytes": peak,
        "versions": trace.versions,
    }
    rows = [
        (f"{kind.replace('_', ' ')}s", f"{n:,}", f"{sizes[kind]:,}") for kind, n in kinds.items()
    ]
    storages = Grid("Storages", ("kind", "count", "bytes as traced"), rows)
    ops = Grid("Operators", ("phase", "count"), [(p, f"{n:,}") for p, n in phases.items()])
    mixed = any(trace.storages[s].final for s in trace.saved)
    held = {"mixed precision": peak["fp32"]} if mixed else {p.upper(): peak[p] for p in peak}
    memory = pairs(
        "Peak activation memory without eviction",
        [(name, f"{size:,} bytes") for name, size in held.items()],
    )
    return Description("trace", facts, (trace_grid(trace), ops, storages, memory))


def capture_description(name: str, capture: Capture) -> Description:
    rows = ratios(capture) if capture.iterations else []
    facts = {
        "model": capture.model,
        "batch": capture.batch,
        "weights": capture.weights,
        "data": capture.data,
        "losses": capture.losses,
        "notes": capture.notes,
        "tensors": [len(tensors) for tensors in capture.iterations],
        "ratios": {
            p: {r.codec: r.ratio for r in rows if r.precision == p} for p in ("bf16", "fp32")
        },
        "versions": capture.versions,
        "machine": capture.machine and asdict(capture.machine),
    }
    about = [
        ("model", f"{capture.model} at batch {capture.batch}"),
        ("weights", capture.weights),
        ("data", capture.data),
        ("loss", ", ".join(f"{loss:.3f}" for loss in capture.losses)),
        *(("note", note) for note in capture.notes),
        *([("made on", str(capture.machine))] if capture.machine else []),
    ]
    return Description("capture", facts, (pairs(name, about), ratio_grid(rows, capture.weights)))


def _plan(name: str, plan: Plan) -> Description:
    actions = Counter(plan.actions.values())
    replays = sum(step.replay_for >= 0 for step in plan.steps)
    facts = {
        "model": plan.model,
        "platform": plan.platform,
        "policy": plan.policy,
        "candidate": plan.candidate,
        "budget_bytes": plan.budget_bytes,
        "actions": dict(actions),
        "steps": len(plan.steps),
        "replayed_steps": replays,
        "predicted_s": plan.predicted_s,
    }
    rows = [
        ("plan for", f"{plan.model} on platform {plan.platform}"),
        ("policy", f"{plan.policy}: {plan.candidate}"),
        ("budget", f"{plan.budget_bytes:,} bytes"),
        ("activations", ", ".join(f"{n} {action}" for action, n in actions.items())),
        ("steps", f"{len(plan.steps):,}, of them {replays:,} replays"),
        ("predicted", f"{plan.predicted_s * 1e3:.2f} ms"),
    ]
    return Description("plan", facts, (pairs(name, rows),))


def _timeline(name: str, timeline: Timeline) -> Description:
    facts = {k: v for k, v in asdict(timeline).items() if k not in ("events", "memory")}
    facts["events"] = len(timeline.events)
    rows = [
        (k.replace("_", " "), f"{v:,.6g}" if k.endswith("_s") else f"{v:,}")
        for k, v in facts.items()
    ]
    return Description("timeline", facts, (pairs(name, rows),))


_RECORDS: dict[type[Any], tuple[set[str], Callable[[str, Any], Description]]] = {
    Trace: ({"ops", "storages"}, _trace),
    Capture: ({"iterations", "op_names"}, capture_description),
    Plan: ({"actions", "steps"}, _plan),
    Timeline: ({"duration_s", "peak_bytes"}, _timeline),
}

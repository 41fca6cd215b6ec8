"""What `planezip inspect` says about each kind of file."""

import gzip
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from planezip.cli.archive_descriptions import archive_facts, archive_grids, archive_tensors
from planezip.cli.planes import picture, sampled_planes
from planezip.codec import StreamView, describe
from planezip.codec.archives import archive_of
from planezip.codec.archives.pieces import map_path
from planezip.codec.format import MAGIC
from planezip.errors import CorruptStreamError, InputError
from planezip.records import Capture, Plan, Timeline, Trace, from_json, peak_activation_bytes
from planezip.report.grid import Grid
from planezip.report.grids import ratio_grid, trace_grid
from planezip.report.names import ENCODERS
from planezip.report.ratios import ratios
from planezip.report.summary import summarise


@dataclass(frozen=True, slots=True)
class Description:
    """A file in a few facts.

    Attributes:
        kind: "stream", "archive", "trace", "capture", "plan" or "timeline".
        facts: JSON-able, for programs.
        grids: for people.
    """

    kind: str
    facts: dict[str, Any]
    grids: tuple[Grid, ...]


def describe_file(path: Path, tensor: str | None = None) -> Description:
    """Tell what a file is and what it holds; of an archive, perhaps one tensor only.

    Raises:
        InputError: the file is unreadable, damaged, or none of the kinds.
    """
    data = map_path(path)
    try:
        if archive_of(path):
            return _archive(path, tensor)
        if data[: len(MAGIC)].tobytes() == MAGIC:
            return _stream(str(path), data)
    except CorruptStreamError as error:
        raise InputError(f"cannot inspect {path}: {error}") from None
    text = _plain(data.tobytes())
    for kind, (members, tell) in _RECORDS.items():
        if members <= _members(text):
            return tell(str(path), from_json(text, kind, str(path)))
    raise InputError(f"{path} is no PlaneZip stream, trace, capture, plan or timeline")


def _plain(data: bytes) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError):
        return b""


def _members(text: bytes) -> set[str]:
    try:
        return set(msgspec.json.decode(text, type=dict[str, msgspec.Raw]))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return set()


def _archive(path: Path, tensor: str | None) -> Description:
    tensors = archive_tensors(path)
    grids = archive_grids(str(path), tensors, tensor)
    return Description("archive", archive_facts(tensors), tuple(grids))


def _stream(name: str, stream: NDArray[np.uint8]) -> Description:
    info = describe(stream)
    blocks = {ENCODERS.get(tag, tag): n for tag, n in info.encoder_blocks.items() if n}
    total = sum(blocks.values()) or 1
    rows = [
        ("codec", f"{info.codec}, {info.symbol_bits}-bit symbols"),
        (
            "restores",
            f"{info.family} {info.dtype} {list(info.shape) if info.dtype else ''}".strip(),
        ),
        ("uncompressed", f"{info.byte_length:,} bytes"),
        ("compressed", f"{info.wire_bytes:,} bytes, ratio {info.ratio:.3f}"),
        ("chunks", f"{info.encoded_chunks:,} encoded, {info.raw_chunks:,} raw"),
        *((f"blocks {tag}", f"{n:,} ({n / total:.0%})") for tag, n in blocks.items()),
    ]
    planes = sampled_planes(StreamView(stream, False), info.symbol_bits)
    grids = (_pairs(name, rows), picture(name, planes))
    return Description("stream", {**asdict(info), "ratio": info.ratio}, grids)


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
    memory = _pairs(
        "Peak activation memory without eviction",
        [(p.upper(), f"{size:,} bytes") for p, size in peak.items()],
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
    }
    about = [
        ("model", f"{capture.model} at batch {capture.batch}"),
        ("weights", capture.weights),
        ("data", capture.data),
        ("loss", ", ".join(f"{loss:.3f}" for loss in capture.losses)),
        *(("note", note) for note in capture.notes),
    ]
    return Description("capture", facts, (_pairs(name, about), ratio_grid(rows, capture.weights)))


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
    return Description("plan", facts, (_pairs(name, rows),))


def _timeline(name: str, timeline: Timeline) -> Description:
    facts = {k: v for k, v in asdict(timeline).items() if k not in ("events", "memory")}
    facts["events"] = len(timeline.events)
    rows = [
        (k.replace("_", " "), f"{v:,.6g}" if k.endswith("_s") else f"{v:,}")
        for k, v in facts.items()
    ]
    return Description("timeline", facts, (_pairs(name, rows),))


def _pairs(title: str, rows: list[tuple[str, str]]) -> Grid:
    return Grid(title, ("", ""), rows, words=2)


_RECORDS: dict[type[Any], tuple[set[str], Callable[[str, Any], Description]]] = {
    Trace: ({"ops", "storages"}, _trace),
    Capture: ({"iterations", "op_names"}, capture_description),
    Plan: ({"actions", "steps"}, _plan),
    Timeline: ({"duration_s", "peak_bytes"}, _timeline),
}

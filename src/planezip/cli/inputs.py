"""Arguments that several commands take: traces, captures, plans and budgets."""

import re
from collections.abc import Iterable
from pathlib import Path

from planezip.errors import InputError
from planezip.records import Capture, Plan, Trace, load
from planezip.units import parse_bytes


def read_trace(source: str) -> Trace:
    """The trace in a file, or, if `source` is a model's name, a new one at its training batch."""
    if not (Path(source).is_file() or set(source) & set("./\\")):
        from planezip.cli.training import trace_model

        return trace_model(source)
    trace = load(source, Trace)
    known = range(len(trace.storages))
    if any(s.id != i for i, s in enumerate(trace.storages)):
        raise InputError(f"{source} is damaged: its storages are not numbered from 0")
    for i, op in enumerate(trace.ops):
        if op.index != i or not _within(op.reads, known) or not _within(op.writes, known):
            raise InputError(f"{source} is damaged: operator {i} does not fit the others")
    return trace


def read_capture(source: Path, trace: Trace) -> Capture:
    """A capture of the trace's model."""
    capture = load(source, Capture)
    if capture.model != trace.model:
        raise InputError(f"{source} is of {capture.model}, not of {trace.model}")
    if not capture.iterations or not all(capture.iterations):
        raise InputError(f"{source} holds an iteration without any saved activation")
    return capture


def read_plan(source: Path, trace: Trace) -> Plan:
    """A plan whose numbers all mean something in the trace."""
    plan = load(source, Plan)
    steps = range(-1, len(plan.steps))
    storages, ops = range(len(trace.storages)), range(len(trace.ops))
    buffers = range(len(storages) + len(plan.scratch))
    fits = (
        plan.model == trace.model
        and _within(plan.actions, storages)
        and _within(plan.scratch, storages)
        and all(
            step.op in ops and _within((*step.into, *step.free), buffers) for step in plan.steps
        )
        and all(
            swap.storage in storages
            and _within(
                (swap.out_after, swap.release_after, swap.prefetch_before, swap.needed_by), steps
            )
            for swap in plan.swaps
        )
    )
    if not fits:
        raise InputError(f"{source} was made for another trace, or is damaged")
    return plan


def parse_budget(text: str, peak_bytes: int) -> int:
    """Bytes of a budget such as "50%" (of the peak without eviction), "5.5GB" or "4096"."""
    share = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text)
    if share:
        return int(peak_bytes * float(share.group(1)) / 100)
    try:
        return parse_bytes(text)
    except InputError:
        raise InputError(f"{text!r} is not a budget; write for example 50% or 5.5GB") from None


def _within(numbers: Iterable[int], known: range) -> bool:
    return all(n in known for n in numbers)

"""Modelled durations and the memory of an iteration without eviction (paper IV)."""

import math
from itertools import accumulate

from planezip.records.platform import Platform
from planezip.records.trace import BUDGETED_KINDS, Op, Precision, Trace


def op_seconds(trace: Trace, platform: Platform) -> tuple[float, ...]:
    """Duration of every operator: launch overhead plus the larger of math and memory time.

    A view moves no data and takes no time. The optimizer step is one memory-bound pass: its
    operators pay for their bytes, and one launch is charged to the first of them. An operator that
    was measured takes what it took.
    """
    seconds = [_op_s(op, platform) for op in trace.ops]
    first = next((o.index for o in trace.ops if o.phase == "optimizer" and not o.is_view), None)
    if first is not None:
        seconds[first] += platform.launch_s
    return tuple(seconds)


def _op_s(op: Op, platform: Platform) -> float:
    if op.measured_s is not None:
        return op.measured_s
    if op.is_view:
        return 0.0
    memory_s = op.bytes_at(platform.precision) / (
        platform.memory_bytes_per_s * platform.memory_efficiency
    )
    if op.phase == "optimizer":
        return memory_s
    math_s = op.flops / (platform.peak_flops_per_s * platform.math_efficiency)
    return platform.launch_s + max(math_s, memory_s)


def compressed_bytes(raw_bytes: int, ratio: float) -> int:
    """What a tensor takes in memory compressed; one that does not shrink is held as it is."""
    return min(raw_bytes, math.ceil(raw_bytes / ratio))


def activation_bytes_over_time(trace: Trace, precision: Precision) -> tuple[int, ...]:
    """Activation memory during every operator when nothing is evicted.

    A storage lives from the operator that writes it first (the batch: from the beginning) to the
    last one that reads or writes it; views do not count as uses.
    """
    first: dict[int, int] = {s.id: 0 for s in trace.storages if s.kind == "input"}
    last: dict[int, int] = dict(first)
    for op in trace.ops:
        if op.is_view:
            continue
        for s in (*op.reads, *op.writes):
            if trace.storages[s].kind in BUDGETED_KINDS:
                first.setdefault(s, op.index)
                last[s] = op.index
    change = [0] * (len(trace.ops) + 1)
    for s, start in first.items():
        size = trace.storages[s].bytes_at(precision)
        change[start] += size
        change[last[s] + 1] -= size
    return tuple(accumulate(change))[:-1]


def peak_activation_bytes(trace: Trace, precision: Precision) -> int:
    """The budget's 100 %: peak activation memory without eviction (paper IV)."""
    return max(activation_bytes_over_time(trace, precision), default=0)


def iteration_seconds(trace: Trace, platform: Platform) -> float:
    """Duration of an iteration with unlimited memory."""
    return sum(op_seconds(trace, platform))

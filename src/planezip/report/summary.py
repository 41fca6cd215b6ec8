"""A trace in a few numbers (paper Table I)."""

from dataclasses import dataclass

from planezip.records import PAPER_PLATFORMS, Platform, Trace, iteration_seconds, platform
from planezip.units import GB


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """One row of Table I.

    Attributes:
        params_millions: trainable parameters.
        saved_tensors, saved_gb: saved activations, as traced.
        ops: operators.
    """

    model: str
    batch: int
    params_millions: float
    saved_tensors: int
    saved_gb: float
    ops: int


def summarise(trace: Trace) -> TraceSummary:
    """The trace's row of Table I."""
    return TraceSummary(
        trace.model,
        trace.batch,
        trace.parameters / 1e6,
        len(trace.saved),
        trace.saved_bytes / GB,
        len(trace.ops),
    )


@dataclass(frozen=True, slots=True)
class Speed:
    """Modelled training throughput with unlimited memory."""

    model: str
    batch: int
    platform: str
    items_per_s: float


def speeds(trace: Trace) -> list[Speed]:
    """A row for every platform of the paper."""
    return [
        Speed(trace.model, trace.batch, name, items_per_s(trace, platform(name)))
        for name in PAPER_PLATFORMS
    ]


def items_per_s(trace: Trace, platform: Platform) -> float:
    """Modelled training throughput with unlimited memory, in items of the batch per second."""
    return trace.batch / iteration_seconds(trace, platform)

"""Drawings of one iteration under a plan: what each stream does, and what memory holds.

Both are SVG paths on the same axis of time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from planezip.records import (
    Event,
    Plan,
    Platform,
    Timeline,
    Trace,
    activation_bytes_over_time,
    op_seconds,
)
from planezip.report.pages.paths import WIDTH, Tick, curve, line, ticks
from planezip.units import GB

LANES = {"compute": "compute", "d2h": "to the host", "h2d": "from the host"}
KINDS = {
    "forward": "forward pass",
    "backward": "backward pass",
    "optimizer": "optimizer",
    "replay": "recomputation",
    "stall": "stall",
    "swap_out": "swap out",
    "swap_in": "swap in",
    "encode": "compression in place",
    "decode": "decompression",
}
"""What is drawn, later over earlier, and what the legend says."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One stream: its title and kind of work -> path along a horizontal line."""

    title: str
    paths: dict[str, str]


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that is drawn of one iteration.

    Attributes:
        held, unlimited: paths of the memory held with the plan and without one.
        budget_pct: the budget's height on the axis of memory.
        end_pct: where on the axis of time the iteration with unlimited memory ends.
    """

    lanes: tuple[Lane, ...]
    held: str
    unlimited: str
    budget_pct: float
    end_pct: float
    times: tuple[Tick, ...]
    sizes: tuple[Tick, ...]

    @property
    def kinds(self) -> list[str]:
        """What is drawn, in the legend's order."""
        return [kind for kind in KINDS if any(kind in lane.paths for lane in self.lanes)]


def chart(trace: Trace, on: Platform, plan: Plan, timeline: Timeline, span_s: float) -> Chart:
    """Draw a timeline simulated with detail on an axis of `span_s` seconds."""
    ends = list(accumulate(op_seconds(trace, on)))
    alone = activation_bytes_over_time(trace, on.precision)
    top = 1.08 * max(alone)
    return Chart(
        tuple(_lane(trace, plan, timeline.events, name, span_s) for name in LANES),
        curve(timeline.memory, timeline.duration_s, span_s, top),
        curve(list(zip([0.0, *ends[:-1]], alone, strict=True)), ends[-1], span_s, top),
        100 * plan.budget_bytes / top,
        100 * ends[-1] / span_s,
        ticks(span_s * 1e3, "ms"),
        ticks(top / GB, "GB"),
    )


def _lane(trace: Trace, plan: Plan, events: Iterable[Event], stream: str, span_s: float) -> Lane:
    spans: dict[str, list[tuple[float, float]]] = {}
    for e in events:
        if e.stream == stream:
            kind = trace.ops[plan.steps[e.step].op].phase if e.kind == "op" else e.kind
            spans.setdefault(kind, []).append((e.start_s, e.end_s))
    scale = WIDTH / span_s
    paths = {kind: line(spans[kind], scale) for kind in KINDS if kind in spans}
    return Lane(LANES[stream], paths)

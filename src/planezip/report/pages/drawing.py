"""Drawings of one iteration under a plan: what each stream does, and what memory holds.

Both are SVG paths on the same axis of time. What is narrower than the eye can see is merged, so
that a drawing of thousands of operators stays small.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import floor, log10

from planezip.records import (
    Event,
    Plan,
    Platform,
    Timeline,
    Trace,
    activation_bytes_over_time,
    op_seconds,
)
from planezip.units import GB

WIDTH = 1000
"""Of a drawing, in its own units."""
HEIGHT = 200
"""Of memory's."""
_SMALLEST = 0.5  # units: closer things are drawn as one, narrower ones are drawn so wide
_COLUMN = 2  # units a point of memory's curve

LANES = {"compute": "compute", "d2h": "to the host", "h2d": "from the host"}
KINDS = {
    "forward": "forward pass",
    "backward": "backward pass",
    "optimizer": "optimizer",
    "replay": "recomputation",
    "stall": "stall",
    "swap_out": "swap out",
    "swap_in": "swap in",
}
"""What is drawn, later over earlier, and what the legend says."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: where, in percent of its length, and what stands there."""

    at_pct: float
    text: str


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
        _curve(timeline.memory, timeline.duration_s, span_s, top),
        _curve(list(zip([0.0, *ends[:-1]], alone, strict=True)), ends[-1], span_s, top),
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
    paths = {kind: _line(spans[kind], scale) for kind in KINDS if kind in spans}
    return Lane(LANES[stream], paths)


def _line(spans: Sequence[tuple[float, float]], scale: float) -> str:
    """Dashes along a horizontal line, wide enough to be seen."""
    merged: list[list[float]] = []
    for start, end in sorted(spans):
        a, b = start * scale, max(end, start) * scale
        if merged and a - merged[-1][1] < _SMALLEST:
            merged[-1][1] = max(merged[-1][1], b)
        else:
            merged.append([a, b])
    return "".join(f"M{a:.1f} 0h{max(b - a, _SMALLEST):.1f}" for a, b in merged)


def _curve(held: Sequence[tuple[float, int]], duration_s: float, span_s: float, top: float) -> str:
    """Steps of (seconds, bytes from then on): in each column the most, so that no peak is lost."""
    columns = WIDTH // _COLUMN
    most = [0] * (columns + 1)
    last = min(columns, int(duration_s / span_s * columns))
    for (start, size), (end, _) in zip(held, [*held[1:], (duration_s, 0)], strict=True):
        for x in range(int(start / span_s * columns), min(last, int(end / span_s * columns)) + 1):
            most[x] = max(most[x], size)
    path, y = f"M0 {HEIGHT}", float(HEIGHT)
    for x, size in enumerate(most[: last + 1]):
        level = round(HEIGHT * (1 - size / top), 1)
        if level != y:
            path += f"H{x * _COLUMN}V{level:g}"
            y = level
    return f"{path}H{(last + 1) * _COLUMN}V{HEIGHT}"


def ticks(longest: float, unit: str) -> tuple[Tick, ...]:
    """About five round numbers from zero; the last one names the unit."""
    rough = longest / 5
    size = 10.0 ** floor(log10(rough))
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= rough)
    marks = [step * i for i in range(int(longest / step) + 1)]
    said = [f"{mark:g}" for mark in marks]
    said[-1] += f" {unit}"
    return tuple(Tick(100 * m / longest, text) for m, text in zip(marks, said, strict=True))

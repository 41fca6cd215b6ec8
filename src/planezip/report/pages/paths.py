"""SVG paths and axes of the drawings, in units of their own.

What is narrower than the eye can see is merged, so that a drawing of thousands of operators stays
small.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

WIDTH = 1000
HEIGHT = 200
"""Of memory's drawing."""
_SMALLEST = 0.5  # closer things are drawn as one, narrower ones are drawn so wide
_COLUMN = 2  # units a point of memory's curve


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: where, in percent of its length, and what stands there."""

    at_pct: float
    text: str


def line(spans: Sequence[tuple[float, float]], scale: float) -> str:
    """Dashes along a horizontal line, wide enough to be seen."""
    merged: list[list[float]] = []
    for start, end in sorted(spans):
        a, b = start * scale, max(end, start) * scale
        if merged and a - merged[-1][1] < _SMALLEST:
            merged[-1][1] = max(merged[-1][1], b)
        else:
            merged.append([a, b])
    return "".join(f"M{a:.1f} 0h{max(b - a, _SMALLEST):.1f}" for a, b in merged)


def curve(held: Sequence[tuple[float, int]], duration_s: float, span_s: float, top: float) -> str:
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

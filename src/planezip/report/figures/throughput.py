"""Throughput against the memory budget (paper figure 4), one panel a platform."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from planezip.report.figures.style import GRID, POLICY_LOOK, panels, png, spread
from planezip.report.names import POLICIES
from planezip.report.rows import Row

FLOOR = 0.5
"""Throughput below half of the unlimited one leaves the axis, as in the paper."""

Point = tuple[float, float]


def throughput_figure(rows: Sequence[Row], platforms: dict[str, str]) -> bytes:
    """Lines of every policy, PNG; `platforms` maps the platforms to draw to their titles."""
    seen = [r.throughput_norm for r in rows if r.throughput_norm is not None]
    bottom = max(FLOOR, min(seen, default=FLOOR) - 0.03)
    with panels(len(platforms)) as (figure, axes):
        for axis, (platform, title) in zip(axes, platforms.items(), strict=True):
            axis.set_ylim(bottom, 1.01)
            _draw(axis, [r for r in rows if r.platform == platform])
            axis.set_title(title)
        return png(figure)


def _draw(axis: Axes, rows: list[Row]) -> None:
    budgets = sorted({r.budget_pct for r in rows}, reverse=True)
    bottom, top = axis.get_ylim()
    ends: list[tuple[str, float]] = []
    for policy in (p for p in POLICIES if any(r.policy == p for r in rows)):
        line = _points(rows, policy)
        axis.plot(*zip(*line, strict=True), zorder=3, **{"markersize": 5, **POLICY_LOOK[policy]})
        budget, value = line[-1]
        if value < bottom:
            _label(axis, policy, _leaves_axis(line, bottom), POLICIES[policy], "floor")
        elif budget > budgets[-1]:
            _label(axis, policy, (budget, value), f"{POLICIES[policy]}, no plan below", "under")
        else:
            ends.append((policy, value))
    places = spread([value for _, value in ends], gap=(top - bottom) * 0.065)
    for (policy, _), place in zip(ends, places, strict=True):
        _label(axis, policy, (budgets[-1], place), POLICIES[policy])
    axis.set_xlim(101.5, budgets[-1] - 1.5)
    axis.set_xticks([100, *budgets], [f"{b:g}%" for b in [100, *budgets]])
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axis.grid(axis="y", color=GRID)
    axis.set_xlabel("memory budget, share of the peak")
    axis.set_ylabel("throughput, share of unlimited")


def _points(rows: list[Row], policy: str) -> list[Point]:
    """From unlimited memory downwards, for as long as the policy has a plan."""
    line: list[Point] = [(100.0, 1.0)]
    for row in sorted(rows, key=lambda r: -r.budget_pct):
        if row.policy == policy and row.throughput_norm is not None:
            line.append((row.budget_pct, row.throughput_norm))
    return line


def _leaves_axis(line: list[Point], bottom: float) -> Point:
    """Where a falling line crosses the lower end of the axis."""
    below = next(i for i, (_, value) in enumerate(line) if value < bottom)
    (x0, y0), (x1, y1) = line[below - 1], line[below]
    return x0 + (x1 - x0) * (y0 - bottom) / (y0 - y1), bottom


_PLACES: dict[str, dict[str, Any]] = {
    "end": {"xytext": (7, 0), "va": "center"},
    "floor": {"xytext": (6, 6), "va": "bottom"},
    "under": {"xytext": (-2, -7), "va": "top", "ha": "right"},
}


def _label(axis: Axes, policy: str, at: Point, text: str, place: str = "end") -> None:
    axis.annotate(
        text,
        at,
        textcoords="offset points",
        color=POLICY_LOOK[policy]["color"],
        weight="bold" if policy == "planezip" else "normal",
        annotation_clip=False,
        **_PLACES[place],
    )

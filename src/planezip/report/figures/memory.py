"""Activation memory over one iteration under a plan, against its budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from matplotlib.axes import Axes

from planezip.records import (
    Plan,
    Platform,
    Timeline,
    Trace,
    activation_bytes_over_time,
    op_seconds,
)
from planezip.report.figures.style import HIGHLIGHT, INK, MUTED, OTHER, panels, png
from planezip.units import GB


@dataclass(frozen=True, slots=True)
class MemoryPanel:
    """What one panel shows: a plan, its detailed timeline, and the platform that it ran on."""

    title: str
    platform: Platform
    plan: Plan
    timeline: Timeline


def memory_figure(trace: Trace, shown: Sequence[MemoryPanel]) -> bytes:
    """Memory with and without the plan over time, PNG, one panel a plan."""
    with panels(len(shown), height=3.0) as (figure, axes):
        for axis, panel in zip(axes, shown, strict=True):
            _draw(axis, trace, panel)
            axis.set_title(panel.title)
        return png(figure)


def _draw(axis: Axes, trace: Trace, panel: MemoryPanel) -> None:
    ends = list(accumulate(op_seconds(trace, panel.platform)))
    unlimited = [b / GB for b in activation_bytes_over_time(trace, panel.platform.precision)]
    axis.fill_between(
        [0.0, *(s * 1e3 for s in ends)],
        [*unlimited, 0.0],
        step="post",
        color=OTHER,
        alpha=0.55,
        lw=0,
    )
    seconds, held = zip(*panel.timeline.memory, strict=True)
    axis.step(
        [s * 1e3 for s in seconds], [b / GB for b in held], where="post", color=HIGHLIGHT, lw=1.6
    )
    budget = panel.plan.budget_bytes / GB
    axis.axhline(budget, color=INK, lw=1, ls=(0, (5, 2)))
    width = panel.timeline.duration_s * 1e3
    axis.annotate("budget", (width, budget), xytext=(0, 3), textcoords="offset points", ha="right")
    top = max(unlimited)
    middle = ends[unlimited.index(top)] * 1e3
    axis.annotate(
        "unlimited",
        (middle, top),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        color=MUTED,
    )
    axis.annotate(
        "with the plan",
        (width * 0.5, budget / 2),
        color=HIGHLIGHT,
        weight="bold",
        ha="center",
    )
    axis.set_xlim(0, width)
    axis.set_ylim(0, top * 1.14)
    axis.set_xlabel("time in the iteration, ms")
    axis.set_ylabel("activation memory, GB")

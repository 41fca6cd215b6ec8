"""One look for all plots: few lines, direct labels, colours that the colour-blind tell apart."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, MUTED, GRID = "#1b1b1b", "#6b6b6b", "#e3e3e3"
HIGHLIGHT = "#0072b2"  # the Okabe-Ito palette from here on
OTHER = "#b8bec4"
POLICY_LOOK: dict[str, dict[str, Any]] = {
    "recomp": {"color": "#555555", "marker": "x", "linestyle": (0, (1, 1.2))},
    "swap": {"color": "#cc79a7", "marker": "v", "linestyle": (0, (4, 1.5))},
    "dte": {"color": "#e69f00", "marker": "s", "linestyle": (0, (4, 1.5))},
    "bw": {"color": "#d55e00", "marker": "^", "linestyle": "-"},
    "bw+zvc": {"color": "#009e73", "marker": "D", "linestyle": "-"},
    "planezip": {"color": HIGHLIGHT, "marker": "o", "linestyle": "-", "linewidth": 2.6},
    "planezip+in-place": {"color": "#56b4e9", "marker": "P", "linestyle": (0, (4, 1.5))},
    "planezip+": {"color": "#000000", "marker": "*", "linestyle": "-"},
}
CODEC_COLOURS = {
    "bdi": "#dfe3e6",
    "zvc": "#b8bec4",
    "bpc": "#8f979e",
    "bx": "#e8b45a",
    "zbx": "#6fb7dd",
    "planezip": HIGHLIGHT,
}
_SETTINGS: Any = {
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}
PANEL_INCHES = (4.9, 3.5)


@contextmanager
def panels(count: int, height: float = PANEL_INCHES[1]) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure of `count` panels side by side, without pyplot and its global state."""
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(PANEL_INCHES[0] * count, height), layout="constrained")
        axes = figure.subplots(1, count, squeeze=False)[0]
        yield figure, list(axes)


@contextmanager
def stacked_panels(
    count: int, width: float, height: float = PANEL_INCHES[1]
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure of `count` panels, one below the other, `width` inches wide."""
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(width, height * count), layout="constrained")
        axes = figure.subplots(count, 1, squeeze=False)[:, 0]
        yield figure, list(axes)


@contextmanager
def panel_grid(
    rows: int, columns: int, inches: tuple[float, float]
) -> Iterator[tuple[Figure, list[list[Axes]]]]:
    """A figure of `rows` times `columns` panels of `inches` each."""
    with matplotlib.rc_context(_SETTINGS):
        size = (inches[0] * columns, inches[1] * rows)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        yield figure, [list(line) for line in axes]


def png(figure: Figure) -> bytes:
    """The figure as PNG bytes; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=160, metadata={"Software": None})
    return buffer.getvalue()


def png_and_svg(figure: Figure) -> dict[str, bytes]:
    """The figure as ".png" and ".svg"; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "planezip", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return {".png": png(figure), ".svg": buffer.getvalue()}


def spread(positions: list[float], gap: float) -> list[float]:
    """Move label positions apart until neighbours are at least `gap` apart, keeping their order."""
    order = sorted(range(len(positions)), key=positions.__getitem__)
    groups: list[list[int]] = []
    centre: list[float] = []
    for i in order:
        groups.append([i])
        centre.append(positions[i])
        while len(groups) > 1 and _overlap(groups, centre, gap):
            last, mid = groups.pop(), centre.pop()
            total = len(groups[-1]) + len(last)
            centre[-1] = (centre[-1] * len(groups[-1]) + mid * len(last)) / total
            groups[-1] += last
    placed = list(positions)
    for members, mid in zip(groups, centre, strict=True):
        for k, i in enumerate(members):
            placed[i] = mid + (k - (len(members) - 1) / 2) * gap
    return placed


def _overlap(groups: list[list[int]], centre: list[float], gap: float) -> bool:
    return centre[-1] - centre[-2] < gap * (len(groups[-1]) + len(groups[-2])) / 2

"""Mean overhead of every variant at 30 % (paper figure 5)."""

from collections.abc import Mapping, Sequence

import numpy as np

from planezip.report.figures.style import GRID, HIGHLIGHT, panels, png_and_svg
from planezip.report.names import VARIANTS
from planezip.report.published import paper

_COLOURS = {"A": "#e69f00", "B": HIGHLIGHT}
_BAR = 0.38


def ablation_figure(
    overheads: Mapping[tuple[str, str], float | None], variants: Sequence[str]
) -> dict[str, bytes]:
    """Bars by (platform, variant), percent; a line across a bar marks the paper's value."""
    shown = [v for v in variants if any(overheads.get((name, v)) is not None for name in _COLOURS)]
    with panels(1, height=1 + 0.5 * max(1, len(shown))) as (figure, (axis,)):
        places = np.arange(len(shown))
        for i, (name, colour) in enumerate(_COLOURS.items()):
            at = places + (i - 0.5) * _BAR
            widths = [overheads.get((name, v)) or 0.0 for v in shown]
            axis.barh(at, widths, _BAR * 0.95, color=colour, label=f"Platform {name}")
            for place, width, v in zip(at, widths, shown, strict=True):
                axis.annotate(
                    f"{width:.1f}", (width, place), xytext=(5, 0), textcoords="offset points",
                    va="center", size=8.5,
                )  # fmt: skip
                theirs = paper().figure5[name].get(v)
                if theirs is not None:
                    ends = (place - _BAR / 2, place + _BAR / 2)
                    axis.plot((theirs, theirs), ends, color="black", linewidth=1.3)
        axis.set_yticks(places, [VARIANTS[v] for v in shown])
        axis.invert_yaxis()
        axis.grid(axis="x", color=GRID)
        axis.set_axisbelow(True)
        axis.margins(x=0.17)
        axis.set_xlabel("mean overhead, % (black: paper)")
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
        return png_and_svg(figure)

"""Cumulative share of bytes over swap-to-recompute cost (paper figure 1a)."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from planezip.report.figures.style import GRID, HIGHLIGHT, MUTED, panels, png_and_svg

_COLOURS = {"A": "#e69f00", "B": HIGHLIGHT}


class Cost(Protocol):
    """One tensor's bytes and cost ratio on a platform."""

    @property
    def platform(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def swap_over_recompute(self) -> float | None: ...


def costs_figure(rows: Sequence[Cost]) -> dict[str, bytes]:
    """One line a platform; left of one, a swap is cheaper."""
    with panels(1) as (figure, (axis,)):
        for name in dict.fromkeys(r.platform for r in rows):
            mine = sorted(
                (r.swap_over_recompute, r.bytes)
                for r in rows
                if r.platform == name and r.swap_over_recompute is not None and r.bytes
            )
            if not mine:
                continue  # it has no tensors to draw
            ratios, sizes = np.array(mine).T
            share = np.cumsum(sizes) / sizes.sum()
            axis.step(ratios, share, where="post", color=_COLOURS.get(name, MUTED), linewidth=2)
            middle = int(np.searchsorted(share, 0.5))
            axis.annotate(
                f"Platform {name}", (ratios[middle], 0.5), xytext=(-8 if name == "A" else 8, 0),
                textcoords="offset points", ha="right" if name == "A" else "left",
                color=_COLOURS.get(name, MUTED), weight="bold",
            )  # fmt: skip
        axis.axvline(1, color=MUTED, linewidth=0.8)
        axis.set_xscale("log")
        axis.set_xlim(1e-1, 1e3)  # tensors of a few bytes lie far to the left
        axis.set_ylim(0, 1.01)
        axis.grid(axis="y", color=GRID)
        axis.set_xlabel("swap time / recompute time")
        axis.set_ylabel("cumulative share of bytes")
        return png_and_svg(figure)

"""Mean overhead against a rate (paper figure 6)."""

from collections.abc import Mapping, Sequence

from planezip.report.figures.style import GRID, POLICY_LOOK, panels, png_and_svg
from planezip.report.names import POLICIES


def sensitivity_figure(
    lines: Mapping[str, Sequence[tuple[float, float | None]]],
    axis_title: str,
    published: Mapping[str, Mapping[str, float]],
) -> dict[str, bytes]:
    """Policy -> (GB/s, mean overhead in %) points; the axis of rates is logarithmic.

    Args:
        published: the paper's values, GB/s -> policy -> %, which are black dashes.
    """
    with panels(1) as (figure, (axis,)):
        for policy, points in lines.items():
            known = [(x, y) for x, y in points if y is not None]
            if known:
                look = {"markersize": 5, **POLICY_LOOK[policy]}
                axis.plot(*zip(*known, strict=True), label=POLICIES[policy], **look)
        theirs = [(float(rate), y) for rate, at in published.items() for y in at.values()]
        if theirs:
            look = {"marker": "_", "s": 160, "color": "black", "zorder": 3}
            axis.scatter(*zip(*theirs, strict=True), label="paper", **look)
        rates = sorted({x for points in lines.values() for x, _ in points})
        axis.set_xscale("log", base=2)
        axis.set_xticks(rates, [f"{rate:g}" for rate in rates])
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
        axis.grid(color=GRID)
        axis.set_xlabel(axis_title)
        axis.set_ylabel("mean overhead, %")
        if axis.has_data():
            axis.legend(frameon=False)
        return png_and_svg(figure)

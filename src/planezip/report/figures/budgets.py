"""Throughput against the budget for every model and platform (paper figure 4)."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from planezip.planning import PAPER_POLICIES
from planezip.report.figures.style import GRID, POLICY_LOOK, panel_grid, png_and_svg
from planezip.report.names import POLICIES, model_title
from planezip.report.rows import Row

_SHOWN = tuple(policy for policy in PAPER_POLICIES if policy != "swap")
_FLOOR = 0.5


def budgets_figure(rows: Sequence[Row], platforms: Mapping[str, str]) -> dict[str, bytes]:
    """A column a model, a row a platform; SWAP leaves the axis and is left out, as in the paper."""
    models = list(dict.fromkeys(r.model for r in rows))
    with panel_grid(len(platforms), len(models), (2.7, 2.5)) as (figure, axes):
        for line, (name, gpu) in zip(axes, platforms.items(), strict=True):
            for axis, model in zip(line, models, strict=True):
                _draw(axis, [r for r in rows if (r.platform, r.model) == (name, model)])
                if axis in axes[0]:
                    axis.set_title(model_title(model))
            line[0].set_ylabel(f"{name} ({gpu})\nnormalized throughput")
        for axis in axes[-1]:
            axis.set_xlabel("memory budget, %")
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(_SHOWN), frameon=False)
        return png_and_svg(figure)


def _draw(axis: Axes, rows: Sequence[Row]) -> None:
    for policy in _SHOWN:
        line = [(100.0, 1.0)]
        line += [
            (r.budget_pct, r.throughput_norm)
            for r in sorted(rows, key=lambda r: -r.budget_pct)
            if r.policy == policy and r.throughput_norm is not None
        ]
        if len(line) > 1:
            look = {"markersize": 3.5, "linewidth": 1.4, **POLICY_LOOK[policy]}
            axis.plot(*zip(*line, strict=True), label=POLICIES[policy], **look)
    lowest = [r.throughput_norm for r in rows if r.policy in _SHOWN and r.throughput_norm]
    axis.set_ylim(max(_FLOOR, min(lowest, default=_FLOOR) - 0.02), 1.01)
    axis.set_xlim(27, 102)
    axis.grid(color=GRID)

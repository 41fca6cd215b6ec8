"""Compression ratio per codec (paper figure 3), one panel a precision."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator

from planezip.records import Precision
from planezip.records.capture import SYMBOL32
from planezip.report.figures.style import HIGHLIGHT, MUTED, OTHER, panels, png
from planezip.report.names import CODECS, PRECISIONS
from planezip.report.ratios import Ratio, mixed_models


def ratio_figure(
    rows: Sequence[Ratio],
    precisions: Sequence[Precision],
    paper: dict[Precision, float] | None = None,
) -> bytes:
    """Bars of every codec, PNG; `paper` holds the paper's ratios of PlaneZip."""
    longest = max(row.ratio for row in rows)
    with panels(len(precisions), height=3.0) as (figure, axes):
        for axis, precision in zip(axes, precisions, strict=True):
            mine = [r for r in rows if r.precision == precision and r.codec != SYMBOL32]
            _draw(axis, mine, longest, (paper or {}).get(precision))
            held = "mixed-precision" if mixed_models(rows) else PRECISIONS[precision]
            axis.set_title(f"{held} activations")
        return png(figure)


def _draw(axis: Axes, rows: list[Ratio], longest: float, paper: float | None) -> None:
    names = [CODECS[row.codec] for row in rows]
    colours = [HIGHLIGHT if row.codec == "planezip" else OTHER for row in rows]
    axis.barh(names, [row.ratio for row in rows], color=colours, height=0.68)
    for place, row in enumerate(rows):
        ours = row.codec == "planezip"
        text = axis.annotate(
            f"{row.ratio:.2f}×",
            (row.ratio, place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            weight="bold" if ours else "normal",
        )
        if ours and paper is not None:
            axis.annotate(
                f"paper {paper:.2f}×", (1, 0.5), xycoords=text, xytext=(7, 0),
                textcoords="offset points", va="center", color=MUTED,
            )  # fmt: skip
    axis.axvline(1, color=MUTED, linewidth=0.8)
    axis.set_xlim(0, longest * (1.5 if paper else 1.15))
    axis.xaxis.set_major_locator(MultipleLocator(0.5))
    axis.tick_params(axis="y", left=False)
    axis.spines["left"].set_visible(False)
    axis.set_xlabel("compression ratio, bytes in over bytes out")

"""Compression ratio per model and codec (paper figure 3), one panel a precision."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from planezip.records.capture import CODECS
from planezip.report.figures.style import CODEC_COLOURS, MUTED, png_and_svg, stacked_panels
from planezip.report.names import CODECS as TITLES
from planezip.report.names import PRECISIONS, model_title
from planezip.report.published import GEOMEAN, paper
from planezip.report.ratios import Ratio

_BAR = 0.13
_LABEL = 0.12  # height of a number, in parts of the tallest bar
_SHORT = {
    GEOMEAN: "geo. mean",
    "gpt2_fused": "GPT-2, fused\nattention",
    "llama": "Llama-style\ndecoder",
}


def model_ratio_figure(rows: Sequence[Ratio]) -> dict[str, bytes]:
    """Groups of bars, one a model; a dash across the PlaneZip bar marks the paper's ratio."""
    models = list(dict.fromkeys(row.model for row in rows))
    models.sort(key=lambda model: (model not in paper().models, model != GEOMEAN))
    width = max(7.5, 1.5 + 1.35 * len(models))
    with stacked_panels(len(PRECISIONS), width, height=2.9) as (figure, axes):
        for axis, (precision, title) in zip(axes, PRECISIONS.items(), strict=True):
            mine = {(r.model, r.codec): r.ratio for r in rows if r.precision == precision}
            theirs = [paper().ratios(model, "trained").get(precision, 0.0) for model in models]
            _draw(axis, models, mine, theirs)
            _mark_paper(axis, theirs)
            axis.set_ylabel(f"ratio, {title}")
        axes[0].legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(CODECS) + 1, frameon=False
        )
        return png_and_svg(figure)


def _draw(
    axis: Axes,
    models: list[str],
    ratios: dict[tuple[str, str], float],
    published: list[float],
) -> None:
    places = np.arange(len(models))
    for i, codec in enumerate(CODECS):
        offset = (i - (len(CODECS) - 1) / 2) * _BAR
        heights = [ratios.get((model, codec), 0.0) for model in models]
        axis.bar(
            places + offset, heights, _BAR * 0.92, label=TITLES[codec], color=CODEC_COLOURS[codec]
        )
        if codec == "planezip":
            for place, height, theirs in zip(places, heights, published, strict=True):
                # Above the mark of the paper's ratio too, if that would run through the number.
                top = theirs if height < theirs < height + _LABEL * max(heights) else height
                axis.annotate(
                    f"{height:.2f}", (place + offset, top), xytext=(0, 2),
                    textcoords="offset points", ha="center", va="bottom", weight="bold", size=9,
                )  # fmt: skip
    axis.axhline(1, color=MUTED, linewidth=0.8)
    axis.set_xticks(places, [_SHORT.get(model, model_title(model)) for model in models])
    axis.set_xlim(-0.6, len(models) - 0.4)
    axis.tick_params(axis="x", length=0)
    axis.margins(y=0.12)


def _mark_paper(axis: Axes, published: list[float]) -> None:
    centre = (len(CODECS) - 1) / 2 * _BAR
    label = "paper's PlaneZip"
    for place, ratio in enumerate(published):
        if ratio:
            ends = (place + centre - _BAR, place + centre + _BAR)
            axis.plot(ends, (ratio, ratio), color="black", linewidth=1.4, label=label)
            label = "_nolegend_"

"""Compression ratio per model and codec (paper figure 3), one panel a precision."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from planezip.records.capture import CODECS
from planezip.report.figures.style import CODEC_COLOURS, MUTED, png_and_svg, stacked_panels
from planezip.report.names import CODECS as TITLES
from planezip.report.names import PRECISIONS, model_title
from planezip.report.published import GEOMEAN, paper
from planezip.report.ratios import Ratio, mixed_models

_BAR = 0.13
_GAP = 0.35  # before what is beyond the paper
_SHORT = {
    GEOMEAN: "geometric\nmean of five",
    "gpt2_fused": "GPT-2, fused\nattention",
    "llama": "Llama-style\ndecoder",
}


def model_ratio_figure(rows: Sequence[Ratio]) -> dict[str, bytes]:
    """Groups of bars, one a model, the paper's first, then their mean, then all others.

    PlaneZip's ratio stands in the foot of its bar; a dash across the bar marks the paper's, which
    stands above both. A model in mixed precision is the same in both panels, and says so.
    """
    models = list(dict.fromkeys(row.model for row in rows))
    models.sort(key=lambda model: (model not in paper().models, model != GEOMEAN))
    mixed = mixed_models(rows)
    beyond = [model not in paper().models and model != GEOMEAN for model in models]
    places = np.arange(len(models)) + _GAP * np.array(beyond)
    width = max(7.5, 1.5 + 1.35 * len(models))
    with stacked_panels(len(PRECISIONS), width, height=2.9) as (figure, axes):
        for axis, (precision, title) in zip(axes, PRECISIONS.items(), strict=True):
            mine = {(r.model, r.codec): r.ratio for r in rows if r.precision == precision}
            theirs = [paper().ratios(model, "trained").get(precision) for model in models]
            _draw(axis, places, [[mine.get((m, c), 0.0) for m in models] for c in CODECS])
            _mark_paper(axis, places, theirs, [mine.get((m, "planezip"), 0.0) for m in models])
            axis.set_xticks(places, [_label(model, model in mixed) for model in models])
            axis.set_ylabel(f"ratio, {title}")
        axes[0].legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(CODECS) + 1, frameon=False
        )
        return png_and_svg(figure)


def _label(model: str, mixed: bool) -> str:
    short = _SHORT.get(model, model_title(model))
    return f"{short},\nmixed precision" if mixed else short


def _draw(axis: Axes, places: NDArray[np.float64], ratios: list[list[float]]) -> None:
    """Bars of every codec; `ratios` by codec, then by model."""
    for codec, heights in zip(CODECS, ratios, strict=True):
        bars = axis.bar(
            places + _offset(codec),
            heights,
            _BAR * 0.92,
            label=TITLES[codec],
            color=CODEC_COLOURS[codec],
        )
        if codec == "planezip":
            for bar, height in zip(bars, heights, strict=True):
                axis.annotate(
                    f"{height:.2f}", (bar.get_x() + bar.get_width() / 2, 0), xytext=(0.5, 4),
                    textcoords="offset points", ha="center", va="bottom", rotation=90,
                    color="white", weight="bold", size=9,
                )  # fmt: skip
    axis.axhline(1, color=MUTED, linewidth=0.8)
    axis.set_xlim(places[0] - 0.6, places[-1] + 0.6)
    axis.tick_params(axis="x", length=0)
    axis.margins(y=0.12)


def _mark_paper(
    axis: Axes, places: NDArray[np.float64], published: list[float | None], ours: list[float]
) -> None:
    label = "paper's PlaneZip"
    for place, theirs, height in zip(places + _offset("planezip"), published, ours, strict=True):
        if theirs is None:
            continue
        ends = (place - _BAR, place + _BAR)
        axis.plot(ends, (theirs, theirs), color="black", linewidth=1.4, label=label)
        axis.annotate(
            f"paper {theirs:.2f}", (place, max(theirs, height)), xytext=(0, 3),
            textcoords="offset points", ha="center", va="bottom", size=8,
        )  # fmt: skip
        label = "_nolegend_"


def _offset(codec: str) -> float:
    """Of a codec's bar from the middle of its group."""
    return (CODECS.index(codec) - (len(CODECS) - 1) / 2) * _BAR

"""Saved bytes that the link can move in one iteration (paper figure 1b)."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from planezip.report.figures.style import CODEC_COLOURS, GRID, panels, png_and_svg
from planezip.report.names import CODECS, model_title

_LOOK = {"none": ("no compression", "#dfe3e6")} | {
    codec: (CODECS[codec], CODEC_COLOURS[codec]) for codec in ("zvc", "planezip")
}
_BAR = 0.26


class Share(Protocol):
    """One model's movable share on a platform under a codec."""

    @property
    def model(self) -> str: ...
    @property
    def platform(self) -> str: ...
    @property
    def codec(self) -> str: ...
    @property
    def movable_pct(self) -> float: ...


def movable_figure(rows: Sequence[Share]) -> dict[str, bytes]:
    """Groups of bars, one a model and platform."""
    groups = list(dict.fromkeys((r.model, r.platform) for r in rows))
    with panels(1, height=0.9 + 0.42 * len(groups)) as (figure, (axis,)):
        places = np.arange(len(groups))
        for i, (codec, (title, colour)) in enumerate(_LOOK.items()):
            found = {(r.model, r.platform): r.movable_pct for r in rows if r.codec == codec}
            if found:
                widths = [found.get(group, 0.0) for group in groups]
                axis.barh(places + (i - 1) * _BAR, widths, _BAR * 0.95, label=title, color=colour)
        axis.set_yticks(places, [f"{model_title(model)}, {name}" for model, name in groups])
        axis.invert_yaxis()
        axis.grid(axis="x", color=GRID)
        axis.set_axisbelow(True)
        axis.set_xlabel("saved bytes that the link can move, %")
        figure.legend(loc="outside upper center", ncols=len(_LOOK), frameon=False)
        return png_and_svg(figure)

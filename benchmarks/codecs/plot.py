"""Ratio against speed of every setting, one panel a precision and direction."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchmarks.codecs.measure import Row
from benchmarks.codecs.summary import PRECISIONS, means
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import NullFormatter
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from planezip.report.figures.style import GRID, HIGHLIGHT, INK, MUTED, panels, png

_SHORT = {"zstandard": "zstd", "level 1": "1", "level 3": "3", "level 4": "4", "level 8": "8"}
_COLOURS = {
    "planezip": HIGHLIGHT,
    "zipnn": "#d55e00",
    "zstandard": "#009e73",
    "lz4": "#e69f00",
    "blosc2": "#cc79a7",
    "pcodec": "#56b4e9",
    "openzl": "#7a5195",
    "isal": "#555555",
}
_LEADER = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0}
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)


def codecs_figure(rows: Sequence[Row]) -> bytes:
    """PNG: encoding left, decoding right; geometric means over the inputs."""
    with panels(2, height=9.2) as (figure, axes):
        for axis in axes:
            axis.remove()
        grid = figure.subplots(2, 2, sharex="col")
        for row, (dtype, title) in zip(grid, PRECISIONS.items(), strict=True):
            table = means(rows, dtype)
            for axis, way in zip(row, ("encode", "decode"), strict=True):
                points = [(getattr(m, way), m.ratio, m.rival, m.setting) for m in table]
                _draw(axis, points)
                axis.set_title(f"{title}, {way}")
            row[0].set_ylabel("compression ratio")
        for axis in grid[1]:
            axis.set_xlabel("GB/s on one core")
        _label_all(figure, grid.flat)
        return png(figure)


def _draw(axis: Axes, points: list[tuple[float, float, str, str]]) -> None:
    axis.set_xscale("log")
    axis.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.tick_params(which="minor", length=0)
    axis.grid(color=GRID, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.margins(x=0.12, y=0.1)
    for speed, ratio, rival, setting in points:
        own = rival == "planezip"
        axis.scatter(speed, ratio, s=80 if own else 22, color=_COLOURS[rival], zorder=3)
        text = "PlaneZip" if own else _name(rival, setting)
        label = axis.annotate(
            text, (speed, ratio), xytext=(6, 0), textcoords="offset points", va="center",
            color=INK if not own else HIGHLIGHT, fontsize=11 if own else 8,
            weight="bold" if own else "normal",
        )  # fmt: skip
        label.set_in_layout(False)


def _name(rival: str, setting: str) -> str:
    words = setting.split(", ")
    names = [_SHORT.get(word, word) for word in (rival, *words) if word != "default"]
    return " ".join(names)


def _label_all(figure: Figure, axes: Iterable[Axes]) -> None:
    """Move every label to the first place near its point where it covers nothing."""
    figure.set_dpi(72)  # a pixel is a point
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axis in axes:
        labels = sorted(axis.texts, key=lambda label: -label.get_fontsize())
        points = [axis.transData.transform(label.xy) for label in labels]
        taken = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in points]
        frame = axis.get_window_extent().padded(2)
        for label, point in zip(labels, points, strict=True):
            taken.append(_put(label, point, taken, frame))


def _put(label: Annotation, point: NDArray[Any], taken: list[Bbox], frame: Bbox) -> Bbox:
    """Put one label where none of `taken` is; return what it takes."""
    # Text is a little wider at other resolutions.
    width, height = label.get_window_extent().padded(1).size
    for align, dx, dy in _places(height, 0.75 * label.get_fontsize()):
        left = {"left": 0, "right": width, "center": width / 2}[align]
        x, y = point[0] + dx - left, point[1] + dy - height / 2
        box = Bbox.from_bounds(x, y, width, height)
        inside = frame.x0 <= box.x0 and box.x1 <= frame.x1
        if inside and not any(box.overlaps(other) for other in taken):
            break
    label.set_ha(align)
    label.set_position((dx, dy))
    if abs(dy) > 12:
        label.axes.annotate(
            "", label.xy, xytext=(dx, dy), textcoords="offset points", arrowprops=_LEADER
        )
    return box


def _places(height: float, gap: float) -> Iterator[tuple[str, float, float]]:
    """Alignment and offset of a label from its point, the nearest first, in points."""
    for step in range(14):
        for align, dx in (("left", gap), ("right", -gap), ("center", 0)):
            if align == "center" and step < 3:
                continue  # it would cover its own point
            yield align, dx, step * height / 2
            yield align, dx, -step * height / 2

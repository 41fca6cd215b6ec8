"""Ratio against speed of every setting, one panel a precision and direction."""

from collections.abc import Iterator, Sequence
from itertools import product

from benchmarks.codecs.measure import Row
from benchmarks.codecs.summary import PRECISIONS, means
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from matplotlib.transforms import Bbox

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
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
_POINT = 4.5  # half a marker and some air, in pixels at 100 a inch


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
        axis.annotate(
            text, (speed, ratio), xytext=(6, 0), textcoords="offset points", va="center",
            color=INK if not own else HIGHLIGHT, fontsize=10.5 if own else 7.5,
            weight="bold" if own else "normal",
        )  # fmt: skip


def _name(rival: str, setting: str) -> str:
    words = setting.split(", ")
    names = [_SHORT.get(word, word) for word in (rival, *words) if word != "default"]
    return " ".join(names)


def _label_all(figure: Figure, axes: Sequence[Axes]) -> None:
    """Move every label to the first place near its point where it covers nothing."""
    figure.set_dpi(100)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axis in axes:
        texts = sorted(axis.texts, key=lambda t: -t.get_fontsize())
        centres = [axis.transData.transform(t.xy) for t in texts]
        taken = [Bbox.from_extents(x - 5, y - 5, x + 5, y + 5) for x, y in centres]
        frame = axis.get_window_extent().padded(2)
        for text, (x, y) in zip(texts, centres, strict=True):
            size = text.get_window_extent()
            for dx, dy in _places(size.width, size.height):
                box = Bbox.from_bounds(x + dx, y + dy, size.width, size.height)
                inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 + 30
                if inside and not any(box.overlaps(other) for other in taken):
                    break
            taken.append(box)
            text.set_va("bottom")
            text.set_position((dx * 0.72, dy * 0.72))
            if abs(dy + size.height / 2) > 18:  # far away: a thin line to the point
                ends = axis.transData.inverted().transform(
                    [(x, y), (box.x0, y + dy + size.height / 2)]
                )
                axis.plot(*ends.T, color=MUTED, linewidth=0.5, zorder=1)


def _places(width: float, height: float) -> Iterator[tuple[float, float]]:
    """Offsets of a label's lower left corner from its point, the nearest first, in pixels."""
    beside = (_POINT + 2, -width - _POINT - 2, -width / 2)
    for step, dx in product(range(14), beside):
        for sign in (1, -1):
            shift = sign * step * height / 2
            if dx == beside[2] and step < 3:
                continue  # it would cover its own point
            yield dx, shift - height / 2

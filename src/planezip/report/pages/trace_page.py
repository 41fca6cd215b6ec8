"""The report on one trace."""

import struct
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planezip.report.contents import Contents
from planezip.report.evaluate import DETAIL_PCT
from planezip.report.figures import MemoryPanel, ratio_figure, throughput_figure
from planezip.report.grids import error_grid, producer_grid, ratio_grid, stability_grid, trace_grid
from planezip.report.headline import facts, headline
from planezip.report.names import PRECISIONS, model_title, platform_title
from planezip.report.pages.differences import with_differences
from planezip.report.pages.explorer import Explorer
from planezip.report.pages.template import render
from planezip.report.published import paper
from planezip.report.ratios import PRECISIONS as BOTH


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot as the page embeds it; width and height in CSS pixels."""

    uri: str
    alt: str
    width: int
    height: int


def trace_page(
    c: Contents, explorers: Sequence[Explorer], timelines: Sequence[str], tables: Sequence[str]
) -> str:
    """The report as HTML.

    Args:
        explorers: of the trace on every platform.
        timelines, tables: names of the files beside the page that it links to.
    """
    view: dict[str, Any] = {
        "title": f"{model_title(c.summary.model)} under a memory budget",
        "headline": headline(c),
        "notes": c.capture.notes if c.capture else (),
        "facts": facts(c),
        "trace": with_differences(trace_grid(c.trace)),
        "ratios": None,
        "detail": f"{DETAIL_PCT:g}%",
        "throughput_figures": _throughput_pictures(c),
        "explorers": explorers,
        "timelines": timelines,
        "tables": tables,
    }
    if c.capture:
        producers = [producer_grid(c.producers, p) for p in BOTH]
        view |= {
            "ratios": with_differences(ratio_grid(c.ratios, c.capture.weights)),
            "ratio_figures": _ratio_pictures(c),
            "producers": [with_differences(grid) for grid in producers],
            "errors": with_differences(error_grid(c.capture)),
            "stability": with_differences(stability_grid(c.stability)),
        }
    return render("trace.html.j2", view)


def memory_panels(c: Contents) -> list[MemoryPanel]:
    """The PlaneZip plans that come with a timeline, one a platform."""
    platforms = {p.name: p for p in c.platforms}
    return [
        MemoryPanel(
            f"Platform {o.row.platform}, budget {o.row.budget_pct:g}%",
            platforms[o.row.platform],
            o.plan,
            o.timeline,
        )
        for o in c.outcomes
        if o.row.policy == "planezip" and o.plan and o.timeline
    ]


def _ratio_pictures(c: Contents) -> list[Picture]:
    assert c.capture is not None
    beside = paper().ratios(c.summary.model, c.capture.weights)
    return [
        _picture(
            ratio_figure(c.ratios, (p,), beside),
            f"Bars: compression ratio of every codec on {PRECISIONS[p]} activations",
        )
        for p in BOTH
    ]


def _throughput_pictures(c: Contents) -> list[Picture]:
    return [
        _picture(
            throughput_figure(c.rows, {p.name: platform_title(p)}),
            f"Lines: throughput of every policy against the budget on platform {p.name}",
        )
        for p in c.platforms
    ]


def _picture(png: bytes, alt: str) -> Picture:
    width, height = struct.unpack(">II", png[16:24])  # IHDR
    return Picture("data:image/png;base64," + b64encode(png).decode(), alt, width // 2, height // 2)

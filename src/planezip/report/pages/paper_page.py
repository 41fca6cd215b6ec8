"""The page of the paper's tables and figures, the paper's values beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from planezip.report.artefacts import Artefact
from planezip.report.grid import Grid
from planezip.report.machine import Machine
from planezip.report.pages.differences import with_differences
from planezip.report.pages.explorer import Explorer
from planezip.report.pages.inline_svg import inline_svg
from planezip.report.pages.template import render
from planezip.report.sources import RatioKind

_RATIOS: dict[RatioKind, str] = {
    "captured": "measured on the saved activations of real training iterations",
    "paper": "Table III of the paper, by producing operator",
}


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the numbers of a page come from.

    Attributes:
        ratios: where compression ratios come from.
        made_on: the machine that made the tables.
        versions: package -> version, of what the traces were made with.
    """

    ratios: RatioKind
    made_on: Machine | None
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Section:
    """One table or figure.

    Attributes:
        figure: its plot as SVG.
        grid: its numbers; None if an earlier section, `same_as`, has shown them.
    """

    name: str
    title: str
    figure: Markup | None
    grid: Grid | None
    same_as: str


def paper_page(
    made: Mapping[Artefact, Sequence[Any]], explorers: Sequence[Explorer], source: Provenance
) -> str:
    """The page as HTML; tables and figures without rows are left out."""
    return render(
        "paper.html.j2",
        {
            "title": "PlaneZip: the paper's tables and figures",
            "facts": _facts(source),
            "explorers": explorers,
            "sections": _sections(made),
        },
    )


def _sections(made: Mapping[Artefact, Sequence[Any]]) -> list[Section]:
    sections: list[Section] = []
    shown: list[tuple[Grid, str]] = []
    for artefact, rows in made.items():
        if not rows:
            continue
        grid = artefact.grid(rows)
        same = next((title for earlier, title in shown if earlier == grid), "")
        shown.append((grid, artefact.title))
        table = None if same else with_differences(grid)
        sections.append(
            Section(artefact.name, artefact.title, _figure(artefact, rows), table, same)
        )
    return sections


def _figure(artefact: Artefact, rows: Sequence[Any]) -> Markup | None:
    if artefact.plot is None:
        return None
    svg = artefact.plot(rows)[".svg"]
    return Markup(inline_svg(svg, artefact.name, artefact.title))


def _facts(source: Provenance) -> list[tuple[str, str]]:
    told = [("ratios", _RATIOS[source.ratios])]
    if m := source.made_on:
        told.append(("machine", f"{m.cpu}, {m.cores} cores, {m.memory_gb:g} GB"))
        told.append(("system", f"{m.system}, Python {m.python}"))
    versions = ", ".join(f"{name} {v}" for name, v in sorted(source.versions.items()))
    return [*told, ("versions", versions)] if versions else told

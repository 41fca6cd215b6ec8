"""The page shows every table and figure that was made, by itself."""

import re
from dataclasses import dataclass
from html import escape, unescape

import pytest

from planezip.report.artefacts import ARTEFACTS, Artefact
from planezip.report.grid import Grid
from planezip.report.machine import Machine
from planezip.report.pages import Provenance, paper_page
from planezip.report.pages.inline_svg import inline_svg

MACHINE = Machine("Example CPU", 3, 1.5, "Linux x86_64", "3.12.0")
SOURCE = Provenance("captured", MACHINE, {"torch": "2.0"})


@pytest.fixture(scope="module")
def html(made):
    return paper_page(made, [], SOURCE)


def test_every_table_and_figure_is_shown_with_its_numbers(html, made):
    for artefact in made:
        assert f'<h2 id="{artefact.name}">{artefact.title}</h2>' in html
        assert f'href="{artefact.name}.csv"' in html
        for row in artefact.grid(made[artefact]).rows:
            assert all(
                re.search(rf">{re.escape(escape(str(cell)))}</(t|span)", html) for cell in row
            )


def test_what_the_registry_gains_is_shown_without_further_ado(made):
    @dataclass(frozen=True)
    class Line:
        value: int

    new = Artefact(
        "new", "Something <new>", Line, lambda study: [], lambda rows: Grid("g", ("v",), [["42"]])
    )
    page = paper_page({**made, new: [Line(42)]}, [], SOURCE)
    assert '<h2 id="new">Something &lt;new&gt;</h2>' in page
    assert ">42</span></th>" in page


def test_a_difference_stands_behind_every_value_of_the_paper(html):
    table = html[html.index('<h2 id="hwcost">') :].partition("</table>")[0]
    assert table.count(">paper</th>") == table.count(">difference</th>") == 3
    assert ">+0.0004 (+10 %)</td>" in table


def test_figures_are_drawings_whose_names_do_not_clash(html):
    assert html.count("<svg ") == 3  # fig1_tensors, fig3, fig4
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    for used in re.findall(r'(?:url\(|xlink:href=")#([^")]+)', html):
        assert used in ids


def test_a_drawing_brings_no_styles_and_no_metadata():
    svg = inline_svg(
        b'<?xml version="1.0"?>\n<!DOCTYPE svg>\n'
        b'<svg width="72pt" height="36pt" viewBox="0 0 72 36">'
        b'<metadata>who</metadata><defs><style type="text/css">*{x}</style></defs>'
        b'<path id="p" clip-path="url(#c)"/></svg>',
        "fig",
        "What it shows",
    )
    assert not re.search("xml|DOCTYPE|metadata|style type", svg)
    assert 'aria-label="What it shows"' in svg
    assert '<path id="fig-p" clip-path="url(#fig-c)"/>' in svg


def test_numbers_are_not_shown_twice(html):
    assert "The numbers are those of “Figure 1a, swap over recomputation”." in html


def test_what_has_no_rows_is_left_out(made):
    empty = paper_page({artefact: [] for artefact in made}, [], SOURCE)
    assert "<h2" not in empty


def test_the_page_says_where_its_numbers_come_from(html, made):
    for said in ("Example CPU, 3 cores, 1.5 GB", "Python 3.12.0", "torch 2.0", "real training"):
        assert said in html
    assert "Table III of the paper" in paper_page(made, [], Provenance("paper", None, {}))


def test_names_cannot_change_the_page(made):
    sly = Provenance("captured", MACHINE, {"<script>alert(1)</script>": "1"})
    page = paper_page(made, [], sly)
    assert "<script>alert" not in page
    assert "<script>alert" in unescape(page)


def test_the_registry_has_titles_of_their_own():
    assert len({artefact.title for artefact in ARTEFACTS.values()}) == len(ARTEFACTS)

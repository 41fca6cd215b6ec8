"""In a browser a page shows the tables' numbers, moves, fits a phone and asks for nothing."""

import gzip
import json
import re
from dataclasses import replace

import pytest

from planezip.records import platform, save
from planezip.report.artefacts import chosen
from planezip.report.contents import contents
from planezip.report.csvs import read_csv
from planezip.report.explored import explorers, provenance
from planezip.report.machine import this_machine
from planezip.report.rows import Row
from planezip.report.study import Study
from planezip.report.write import write_artefacts, write_report

LONG = "my_package.my_module:build_large_training_step"
PHONE = {"width": 375, "height": 800}


@pytest.fixture(scope="module")
def report(trace, capture, tmp_path_factory):
    """The folder of a report on one trace."""
    folder = tmp_path_factory.mktemp("report")
    write_report(folder, contents(trace, capture, [platform("B")], [70.0, 50.0]))
    return folder


@pytest.fixture(scope="module")
def long_report(trace, capture, tmp_path_factory):
    """Of a model whose name is wider than a phone."""
    folder = tmp_path_factory.mktemp("long_report")
    named, captured = replace(trace, model=LONG), replace(capture, model=LONG)
    write_report(folder, contents(named, captured, [platform("B")], [70.0, 50.0]))
    return folder


@pytest.fixture(scope="module")
def long_results(trace, capture, tmp_path_factory):
    folder = tmp_path_factory.mktemp("long_results")
    save(folder / LONG / "trace.json.gz", replace(trace, model=LONG))
    save(folder / LONG / "trained.json.gz", replace(capture, model=LONG))
    study = Study(folder, jobs=1)
    made = {artefact: artefact.rows(study) for artefact in chosen(["table1", "fig3", "fig4"])}
    write_artefacts(folder, made, explorers(study, made), provenance(study, this_machine()))
    return folder


def overheads(folder, name):
    """Budget in percent -> overhead of PlaneZip's plan on a platform, from figure 4's CSV file."""
    rows = read_csv(folder / "fig4.csv", Row)
    return {
        r.budget_pct: r.overhead_pct for r in rows if (r.platform, r.policy) == (name, "planezip")
    }


@pytest.mark.parametrize("name", ["A", "B"])
def test_the_slider_moves_through_the_numbers_of_the_csv_file(opened, results, name):
    expected = overheads(results, name)
    assert len(expected) == 7
    with opened(results) as page:
        explorer = page.locator(f".explorer:has(#plans-{name})")
        slider, said = explorer.get_by_role("slider"), explorer.locator("output")
        assert "50% of the memory" in said.inner_text()
        slider.focus()
        slider.press("Home")
        for budget in sorted(expected):
            told = re.search(r"in (\S+)% of the memory \(.*\): (\S+)% longer", said.inner_text())
            if expected[budget] is None:
                assert said.inner_text().endswith("no plan.")
            else:
                assert told.groups() == (f"{budget:g}", f"{expected[budget]:.1f}")
            assert slider.get_attribute("aria-valuetext") == said.inner_text()
            assert explorer.locator(".stop:visible").count() == 1
            slider.press("ArrowRight")


def test_another_budget_is_another_drawing(opened, results):
    with opened(results) as page:
        explorer = page.locator(".explorer").last
        drawings = set()
        for stop in range(7):
            explorer.get_by_role("slider").fill(str(stop))
            drawings.add(explorer.locator(".held:visible").get_attribute("d"))
        assert len(drawings) == 7


@pytest.mark.parametrize("folder", ["results", "report", "long_results", "long_report"])
@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 800}])
def test_nothing_is_wider_than_the_screen(opened, request, folder, viewport):
    with opened(request.getfixturevalue(folder), viewport=viewport) as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for slider in page.get_by_role("slider").all():
            for stop in range(int(slider.get_attribute("max")) + 1):
                slider.fill(str(stop))
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("folder", ["long_results", "long_report"])
def test_a_long_name_leaves_room_for_the_numbers_of_its_row(opened, request, folder):
    with opened(request.getfixturevalue(folder), viewport=PHONE) as page:
        widths = page.locator("tbody th").evaluate_all(
            "cells => cells.map(cell => cell.getBoundingClientRect().width)"
        )
        assert max(widths) < 0.6 * PHONE["width"]
        assert LONG in "".join(page.locator("h2").all_inner_texts())


@pytest.mark.parametrize("folder", ["results", "report"])
def test_without_scripts_every_budget_is_shown(opened, request, folder):
    with opened(request.getfixturevalue(folder), java_script_enabled=False) as page:
        stops = page.locator(".stop")
        assert stops.count() >= 2
        assert all(stop.is_visible() for stop in stops.all())
        assert all(stop.locator("h3").is_visible() for stop in stops.all())
        assert not any(slider.is_visible() for slider in page.locator(".slider").all())


def test_on_paper_the_overheads_of_all_budgets_are_there(opened, results):
    with opened(results) as page:
        page.emulate_media(media="print")
        explorer = page.locator(".explorer").last
        assert not explorer.locator(".slider").is_visible()
        shown = explorer.locator("table").first.inner_text()
        for overhead in overheads(results, "B").values():
            assert ("no plan" if overhead is None else f"{overhead:.1f}") in shown
        assert explorer.locator(".stop:visible h3").is_visible()


def test_the_timeline_of_the_chosen_plan_can_be_saved(opened, results, tmp_path):
    with opened(results) as page:
        explorer = page.locator(".explorer").last
        explorer.get_by_role("slider").fill("0")
        with page.expect_download() as download:
            explorer.locator("a[download]:visible").click()
        assert download.value.suggested_filename == "gpt2-B-30-planezip.json.gz"
        download.value.save_as(tmp_path / "timeline.json.gz")
        timeline = json.loads(gzip.decompress((tmp_path / "timeline.json.gz").read_bytes()))
        assert {event["ph"] for event in timeline["traceEvents"]} == {"M", "X", "C"}


def test_the_contents_lead_to_what_they_name(opened, results):
    with opened(results) as page:
        links = page.locator("nav a").all()
        assert len(links) == 2 + 6
        for link in links:
            place = link.get_attribute("href")
            assert page.locator(place).inner_text() in link.inner_text()


def test_a_page_that_is_too_wide_complains_or_asks_is_told_apart(opened, tmp_path):
    """The checks above can fail."""

    def write(body):
        (tmp_path / "report.html").write_text(f"<meta name=viewport content='width=10'>{body}")

    write("<div style='width: 900px'>wide</div>")
    with opened(tmp_path, viewport=PHONE) as page:
        assert not page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for body in (
        "<script>console.error('no')</script>",
        "<script>nothing()</script>",
        "<link rel=stylesheet href='other.css'>",
    ):
        write(body)
        with pytest.raises(AssertionError), opened(tmp_path):
            pass

"""A report is complete, self-contained, and whole or absent."""

import base64
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from planezip.errors import InputError
from planezip.records import platform
from planezip.report.contents import contents
from planezip.report.csvs import read_csv
from planezip.report.headline import headline
from planezip.report.predictability import Stability
from planezip.report.producers import Producer
from planezip.report.ratios import Ratio
from planezip.report.rows import Row
from planezip.report.write import writable_folder, write_report


class Page(HTMLParser):
    """Collects what a page loads, links to and says."""

    LOADS = frozenset({"src", "srcset", "data", "poster", "action"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loads, self.links, self.ids, self.text, self.open = [], [], [], "", []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "link", "img", "input"):
            self.open.append(tag)
        for name, value in attrs:
            if name in self.LOADS or (tag == "link" and name == "href"):
                self.loads.append(value)
            elif name == "href":
                self.links.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def report(trace, capture):
    return contents(trace, capture, [platform("A"), platform("B")], [70.0, 50.0])


@pytest.fixture(scope="module")
def folder(report, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_report(folder, report)
    return folder


@pytest.fixture(scope="module")
def page(folder):
    return Page((folder / "report.html").read_text())


def test_the_files_are_those_that_readers_rely_on(folder):
    policies = ("recomp", "swap", "dte", "bw", "bw-zvc", "planezip")
    timelines = {f"timelines/{p}-50-{policy}.json" for p in "AB" for policy in policies}
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert found - timelines == {
        "report.html",
        "overheads.csv",
        "ratios.csv",
        "producers.csv",
        "predictability.csv",
        "machine.json",
        "ratio.png",
        "throughput.png",
        "memory.png",
    }
    feasible = {name for name in timelines if "recomp" not in name}
    assert feasible <= found


@pytest.mark.parametrize(
    ("name", "kind", "header"),
    [
        (
            "overheads.csv",
            Row,
            "model,platform,budget_pct,policy,overhead_pct,throughput_norm,swapped_bytes,"
            "recompute_s,stall_s,kept_plan",
        ),
        ("ratios.csv", Ratio, "model,precision,codec,ratio"),
        (
            "producers.csv",
            Producer,
            "model,precision,producer,share_pct,bdi,zvc,bpc,bx,zbx,planezip,top_encoder,"
            "top_share_pct",
        ),
        (
            "predictability.csv",
            Stability,
            "model,precision,iteration,loss,ratio,tensor_error_pct,optype_error_pct,"
            "global_error_pct",
        ),
    ],
)
def test_the_csv_columns_are_stable_and_the_rows_readable(folder, name, kind, header):
    assert (folder / name).read_text().splitlines()[0] == header
    assert read_csv(folder / name, kind)


def test_the_page_loads_nothing_from_elsewhere(folder, page):
    html = (folder / "report.html").read_text()
    assert page.loads
    assert all(value.startswith("data:") for value in page.loads)
    assert not re.search(r"@import|url\(|<script [^>]", html)


def test_the_page_is_well_formed(page):
    assert page.open == []


def test_the_page_holds_the_plots_panel_by_panel(page):
    images = [value for value in page.loads if value.startswith("data:image/png;base64,")]
    assert len(images) == 4  # ratio and throughput, twice each
    assert all(base64.b64decode(i.partition(",")[2], validate=True)[1:4] == b"PNG" for i in images)


def test_every_link_to_a_file_leads_somewhere(folder, page):
    local = [link for link in page.links if not link.startswith(("https://", "data:", "#"))]
    assert len(local) > 5
    assert all((folder / link).is_file() for link in local)


def test_the_page_says_where_its_figures_come_from(page, capture):
    for said in (capture.weights, capture.data, *capture.notes, "torch 2.0", "toynet"):
        assert said in page.text


def test_names_from_records_cannot_change_the_page(trace, capture, tmp_path):
    sly = replace(capture, data="<script>alert(1)</script>")
    write_report(tmp_path, contents(trace, sly, [platform("A")], [50.0]))
    assert "<script>alert" not in (tmp_path / "report.html").read_text()


def test_timelines_load_in_perfetto(folder):
    trace_file = json.loads((folder / "timelines/B-50-planezip.json").read_text())
    phases = {event["ph"] for event in trace_file["traceEvents"]}
    assert phases == {"M", "X", "C"}
    assert all(event["dur"] >= 0 for event in trace_file["traceEvents"] if event["ph"] == "X")


def test_without_a_capture_there_are_no_ratios(trace, tmp_path):
    made = contents(trace, None, [platform("B")], [50.0])
    names = {path.name for path in write_report(tmp_path, made)}
    assert "report.html" in names
    assert not names & {"ratios.csv", "producers.csv", "predictability.csv", "ratio.png"}
    assert "No capture was given" in Page((tmp_path / "report.html").read_text()).text
    assert len(made.grids()) == 2


def test_budgets_other_than_the_detailed_one_need_no_timeline(trace, tmp_path):
    made = contents(trace, None, [platform("B")], [70.0])
    names = {path.name for path in write_report(tmp_path, made)}
    assert "memory.png" not in names
    assert "report.html" in names


def test_the_headline_states_the_rows(report):
    row = next(
        o.row
        for o in report.outcomes
        if (o.row.platform, o.row.budget_pct, o.row.policy) == ("B", 50.0, "planezip")
    )
    assert f"and {row.overhead_pct:.1f}% longer with PlaneZip" in headline(report)
    ratio = next(r.ratio for r in report.ratios if (r.precision, r.codec) == ("bf16", "planezip"))
    assert f"compress by {ratio:.2f}×" in headline(report)


def test_the_headline_leaves_out_policies_without_a_plan(report):
    rows = [
        replace(o, row=replace(o.row, overhead_pct=None)) if o.row.policy == "bw" else o
        for o in report.outcomes
    ]
    assert "no compression" in headline(report)
    assert "no compression" not in headline(replace(report, outcomes=rows))


def test_a_second_report_replaces_the_first_and_leaves_nothing_behind(report, folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    write_report(folder, report)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_file_in_the_way_of_the_folder_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    for name in ("taken", "taken/deeper"):
        with pytest.raises(InputError, match="taken"), writable_folder(tmp_path / name):
            pass


def test_a_folder_goes_again_if_the_work_for_it_fails_and_nothing_is_in_it(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("there", "there/new", "new/deeper"):
        with pytest.raises(ZeroDivisionError), writable_folder(tmp_path / name):
            _ = 1 / 0
    assert list(tmp_path.rglob("*")) == [tmp_path / "there"]


def test_a_folder_with_something_in_it_stays_if_the_work_for_it_fails(tmp_path):
    def work():
        with writable_folder(tmp_path / "used"):
            (tmp_path / "used" / "file").touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert (tmp_path / "used" / "file").exists()


def test_an_obstacle_leaves_no_partial_report(report, tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(InputError, match=r"report\.html"):
        write_report(tmp_path, report)
    assert [path.name for path in tmp_path.rglob("*")] == ["report.html"]


def test_a_full_disk_leaves_no_partial_report(report, tmp_path, monkeypatch):
    written = []

    def fill(number):
        written.append(number)
        if len(written) == 9:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill)
    with pytest.raises(InputError, match="No space left"):
        write_report(tmp_path, report)
    assert list(tmp_path.iterdir()) == []

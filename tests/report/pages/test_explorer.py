"""The slider's stops say what the rows say, and rows that were not made so are refused."""

import gzip
import json
from base64 import b64decode
from dataclasses import replace

import pytest

from planezip.errors import InputError
from planezip.planning import PAPER_POLICIES
from planezip.report.artefacts import ARTEFACTS
from planezip.report.bench import Bench
from planezip.report.csvs import read_csv, write_csv
from planezip.report.pages.explorer import explorer
from planezip.report.rows import Row


@pytest.fixture
def rows(made):
    return made[ARTEFACTS["fig4"]]


@pytest.fixture
def bench(study, on_b):
    return Bench(study.trace("gpt2"), on_b, study.source("gpt2"))


def on_platform_b(rows, policy="planezip"):
    mine = [r for r in rows if (r.platform, r.policy) == ("B", policy)]
    return sorted(mine, key=lambda r: r.budget_pct)


def test_every_stop_says_its_row(bench, rows):
    made = explorer(bench, rows)
    expected = on_platform_b(rows)
    assert [s.budget_pct for s in made.stops] == [r.budget_pct for r in expected]
    assert made.stops[made.start].budget_pct == 50
    for stop, row in zip(made.stops, expected, strict=True):
        assert f"{row.overhead_pct:.1f}% longer" in stop.said
        assert stop.chart
        assert stop.chart.budget_pct == pytest.approx(row.budget_pct / 1.08)


def test_all_stops_share_the_axis_of_time(bench, rows):
    ends = {stop.chart.end_pct for stop in explorer(bench, rows, "recomp").stops if stop.chart}
    assert len(ends) == 1
    (end,) = ends
    slowest = max(r.overhead_pct or 0 for r in on_platform_b(rows, "recomp"))
    assert end == pytest.approx(100 / (1 + slowest / 100))


def test_another_policy_can_be_drawn(bench, rows):
    made = explorer(bench, rows, "bw")
    for stop, row in zip(made.stops, on_platform_b(rows, "bw"), strict=True):
        assert f"{row.overhead_pct:.1f}% longer" in stop.said
        strong = stop.grids[0].rows[stop.grids[0].strong]
        assert strong[0] == "BW"


def test_without_rows_of_the_policy_the_last_known_one_is_drawn(bench, rows):
    few = [r for r in rows if r.policy in ("recomp", "bw")]
    assert all(stop.said.startswith("BW in") for stop in explorer(bench, few).stops)


def test_a_budget_without_a_plan_says_so(bench, rows):
    made = explorer(bench, [*rows, *_impossible()])
    assert made.stops[0].said.endswith("no plan.")
    assert made.stops[0].chart is None
    assert made.stops[0].timeline is None


def _impossible():
    none = (None,) * 5
    return [Row("gpt2", "B", 1.0, policy, *none, "infeasible") for policy in PAPER_POLICIES]


def test_the_timeline_is_the_plans(bench, rows):
    for stop in explorer(bench, rows).stops:
        data = stop.timeline.uri.partition("base64,")[2]
        events = json.loads(gzip.decompress(b64decode(data)))["traceEvents"]
        computed = [e for e in events if e["ph"] == "X" and e["tid"] == 1]
        end_us = max(e["ts"] + e["dur"] for e in computed)
        slower_pct = 100 * (end_us / 1e6 / bench.unlimited_s - 1)
        assert f"{slower_pct:.1f}% longer" in stop.said


def test_the_same_rows_make_the_same_page(bench, rows):
    assert explorer(bench, rows) == explorer(bench, rows)


def test_rows_from_a_csv_file_are_as_good(bench, rows, tmp_path):
    write_csv(tmp_path / "fig4.csv", Row, rows)
    made, again = explorer(bench, rows), explorer(bench, read_csv(tmp_path / "fig4.csv", Row))
    assert [s.said for s in again.stops] == [s.said for s in made.stops]


def test_a_plan_that_a_second_search_finds_is_told_from_the_rows(bench, rows):
    moved = [replace(r, overhead_pct=r.overhead_pct and r.overhead_pct + 0.5) for r in rows]
    for stop, row in zip(explorer(bench, moved).stops, on_platform_b(moved), strict=True):
        assert f"{row.overhead_pct:.1f}% longer than" in stop.said
        anew = f"takes {row.overhead_pct - 0.5:.1f}% longer"
        assert stop.note.endswith(f"{anew}.") or not row.overhead_pct
    assert {stop.note for stop in explorer(bench, rows).stops} == {""}


def test_rows_of_something_else_are_refused(bench, rows):
    wrong = [replace(r, overhead_pct=(r.overhead_pct or 0) + 1.1) for r in rows]
    with pytest.raises(InputError, match=r"fig4\.csv was made from other measurements"):
        explorer(bench, wrong)
    lost = [replace(r, overhead_pct=None) for r in rows]
    with pytest.raises(InputError, match="not none"):
        explorer(bench, lost)
    with pytest.raises(InputError, match="no overheads of gpt2 on platform B"):
        explorer(bench, [r for r in rows if r.platform == "A"])
    with pytest.raises(InputError, match="lack some"):
        explorer(bench, rows[:-1])

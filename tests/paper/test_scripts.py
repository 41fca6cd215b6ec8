"""Every script of a table or figure makes files from records; committed files are what it gives."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planezip.records import save
from planezip.report.csvs import read_csv
from planezip.report.predictability import Stability
from planezip.report.producers import Producer
from planezip.report.ratios import Ratio
from planezip.report.rows import Row
from planezip.report.summary import Speed, TraceSummary
from toynet import build_capture, build_trace

PAPER = Path(__file__).parents[2] / "paper"
COMMITTED = sorted((PAPER / "results").glob("*/"))
ROWS = {
    "table1.csv": TraceSummary,
    "table2-speeds.csv": Speed,
    "figure3.csv": Ratio,
    "figure3-random.csv": Ratio,
    "table3.csv": Producer,
    "table4.csv": Stability,
    "figure4.csv": Row,
}


def run(script: str, folder: Path) -> str:
    command = [sys.executable, "-W", "error", PAPER / script, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    trace = build_trace(3)
    save(folder / "trace.json.gz", trace)
    for weights, scale in (("trained", 1.0), ("random", 0.5)):
        save(folder / f"{weights}.json.gz", build_capture(trace, scale))
    for script in ("table1.py", "figure3.py", "table3.py", "table4.py", "figure4.py"):
        run(script, folder)
    return folder


@pytest.mark.parametrize("name", ROWS)
def test_every_table_has_rows(results, name):
    assert read_csv(results / name, ROWS[name])


@pytest.mark.parametrize("name", ["figure3.png", "figure4.png"])
def test_every_figure_is_drawn(results, name):
    assert (results / name).read_bytes().startswith(b"\x89PNG")


def test_trained_and_random_weights_are_told_apart(results):
    trained, random = (
        {(r.precision, r.codec): r.ratio for r in read_csv(results / name, Ratio)}
        for name in ("figure3.csv", "figure3-random.csv")
    )
    assert trained.keys() == random.keys()
    assert trained["bf16", "planezip"] > random["bf16", "planezip"]


def test_the_summary_is_made_from_the_tables(results):
    text = run("summary.py", results)
    row = read_csv(results / "table3.csv", Producer)[0]
    assert f"| {row.producer} | {row.share_pct:.1f} |" in text
    assert text.count("| :-- |") == 9


@pytest.mark.parametrize("folder", COMMITTED, ids=lambda folder: folder.name)
def test_committed_tables_are_what_the_committed_captures_give(folder, tmp_path):
    for name in ("trace.json.gz", "trained.json.gz", "random.json.gz"):
        os.symlink(folder / name, tmp_path / name)
    for script in ("table1.py", "figure3.py", "table3.py", "table4.py"):
        run(script, tmp_path)
    for name in ROWS.keys() - {"figure4.csv"}:
        assert (tmp_path / name).read_text() == (folder / name).read_text()


@pytest.mark.parametrize("folder", COMMITTED, ids=lambda folder: folder.name)
def test_committed_overheads_are_what_the_planners_give(folder, tmp_path):
    for name in ("trace.json.gz", "trained.json.gz"):
        os.symlink(folder / name, tmp_path / name)
    run("figure4.py", tmp_path)
    assert (tmp_path / "figure4.csv").read_text() == (folder / "figure4.csv").read_text()

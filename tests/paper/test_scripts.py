"""The committed tables are what this code makes of the measurements that the package carries."""

import csv
import importlib
from pathlib import Path

import pytest

from planezip.records.measurements import PAPER_MODELS, shipped
from planezip.report.artefacts import ARTEFACTS
from planezip.report.csvs import to_csv
from planezip.report.study import Study

RESULTS = Path(__file__).parents[2] / "paper" / "results"
MACHINES = sorted(path.parent for path in RESULTS.glob("*/machine.json"))
PLANNED = {name for name, artefact in ARTEFACTS.items() if artefact.tasks}


@pytest.mark.parametrize("name", sorted(ARTEFACTS.keys() - PLANNED))
@pytest.mark.parametrize("folder", MACHINES, ids=lambda folder: folder.name)
def test_committed_tables_are_what_the_measurements_give(folder, name):
    check(folder, name, Study(shipped().folder))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PLANNED))
@pytest.mark.parametrize("folder", MACHINES, ids=lambda folder: folder.name)
def test_committed_overheads_are_what_the_planners_give(folder, name, study):
    check(folder, name, study)


@pytest.fixture(scope="module")
def study():
    return Study(shipped().folder)


def check(folder, name, study):
    artefact = ARTEFACTS[name]
    made = artefact.files(artefact.rows(study))
    assert made[f"{name}.csv"] == (folder / f"{name}.csv").read_bytes()
    assert {file for file in made if not (folder / file).exists()} == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["operators", "signatures"])
@pytest.mark.parametrize("folder", MACHINES, ids=lambda folder: folder.name)
def test_scripts_make_what_is_committed(folder, name, monkeypatch):
    monkeypatch.syspath_prepend(RESULTS.parent)
    script = importlib.import_module(name)
    made = to_csv(script.ROW, list(script.table()))
    assert made == (folder / f"{name}.csv").read_bytes()


def a_loss(training, other, steps):
    return importlib.import_module("gpt2_loss").Loss("gpt2", steps, 1, 7.0)


@pytest.mark.parametrize(
    ("name", "given", "costly", "files"),
    [
        ("operators", (), {"table": lambda: []}, {"operators.csv"}),
        (
            "signatures",
            (),
            {"table": lambda: [], "contributions": lambda *_: []},
            {"signatures.csv", "signature_shares.csv"},
        ),
        ("drift", ("photographs", "2"), {"capture": None, "rows": lambda *_: []}, {"drift.csv"}),
        ("gpt2_loss", ("a", "b", "2"), {"measured": a_loss}, {"gpt2_loss.csv"}),
    ],
)
def test_scripts_write_where_they_are_told(name, given, costly, files, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(RESULTS.parent)
    script = importlib.import_module(name)
    for function, instead in costly.items():
        monkeypatch.setattr(script, function, instead or (lambda *_: None))
    monkeypatch.setattr("sys.argv", [name, *given, "--out", str(tmp_path / "out")])
    committed = {path: path.read_bytes() for path in RESULTS.rglob("*.csv")}
    script.main()
    assert {path.name for path in (tmp_path / "out").iterdir()} == files
    assert {path: path.read_bytes() for path in RESULTS.rglob("*.csv")} == committed


@pytest.mark.parametrize("folder", MACHINES, ids=lambda folder: folder.name)
def test_every_difference_in_table_1_is_explained(folder):
    last = {}
    for row in csv.DictReader((folder / "operators.csv").read_text().splitlines()):
        last[row["model"]] = row
    assert tuple(last) == PAPER_MODELS
    for row in last.values():
        assert row["operators"] == row["paper_operators"]
        assert row["saved_tensors"] == row["paper_saved_tensors"]


def test_every_workload_of_the_paper_was_measured():
    measured = shipped()
    assert measured.models()[: len(PAPER_MODELS)] == PAPER_MODELS
    assert len(measured.captures(PAPER_MODELS)) == len(PAPER_MODELS)
    assert len(measured.captures(PAPER_MODELS, "random")) == len(PAPER_MODELS)

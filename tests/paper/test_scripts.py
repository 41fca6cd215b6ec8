"""The committed tables are what this code makes of the measurements that the package carries."""

import subprocess
import sys
from pathlib import Path

import pytest

from planezip.records.measurements import PAPER_MODELS, shipped
from planezip.report.artefacts import ARTEFACTS

PAPER = Path(__file__).parents[2] / "paper"
COMMITTED = sorted((PAPER / "results").glob("*/"))


@pytest.mark.parametrize("name", ARTEFACTS)
@pytest.mark.parametrize("folder", COMMITTED, ids=lambda folder: folder.name)
def test_committed_tables_are_what_the_measurements_give(folder, name):
    artefact = ARTEFACTS[name]
    made = artefact.files(artefact.rows(shipped()))
    assert made[f"{name}.csv"] == (folder / f"{name}.csv").read_bytes()
    assert {file for file in made if not (folder / file).exists()} == set()


def test_every_workload_of_the_paper_was_measured():
    measured = shipped()
    assert measured.models()[: len(PAPER_MODELS)] == PAPER_MODELS
    assert len(measured.captures(PAPER_MODELS)) == len(PAPER_MODELS)
    assert len(measured.captures(PAPER_MODELS, "random")) == len(PAPER_MODELS)


@pytest.mark.parametrize("folder", COMMITTED, ids=lambda folder: folder.name)
def test_committed_overheads_are_what_the_planners_give(folder, tmp_path):
    command = [sys.executable, "-W", "error", PAPER / "figure4.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "figure4.csv").read_text() == (folder / "figure4.csv").read_text()

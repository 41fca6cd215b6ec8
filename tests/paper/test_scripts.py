"""The committed tables are what this code makes of the measurements that the package carries."""

from pathlib import Path

import pytest

from planezip.records.measurements import PAPER_MODELS, shipped
from planezip.report.artefacts import ARTEFACTS
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
    if not (folder / f"{name}.csv").exists():
        pytest.skip("not made on this machine yet")
    check(folder, name, study)


@pytest.fixture(scope="module")
def study():
    return Study(shipped().folder)


def check(folder, name, study):
    artefact = ARTEFACTS[name]
    made = artefact.files(artefact.rows(study))
    assert made[f"{name}.csv"] == (folder / f"{name}.csv").read_bytes()
    assert {file for file in made if not (folder / file).exists()} == set()


def test_every_workload_of_the_paper_was_measured():
    measured = shipped()
    assert measured.models()[: len(PAPER_MODELS)] == PAPER_MODELS
    assert len(measured.captures(PAPER_MODELS)) == len(PAPER_MODELS)
    assert len(measured.captures(PAPER_MODELS, "random")) == len(PAPER_MODELS)

"""A small network's results, as `planezip reproduce` writes them."""

from dataclasses import replace

import pytest

from planezip.records import platform, save
from planezip.report.artefacts import chosen
from planezip.report.explored import explorers, provenance
from planezip.report.machine import this_machine
from planezip.report.study import Study
from planezip.report.write import write_artefacts
from toynet import build_capture, build_trace

SHOWN = ("fig1_tensors", "fig1_summary", "table1", "hwcost", "fig3", "fig4")


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """Of a network that bears the name of one in the paper."""
    folder = tmp_path_factory.mktemp("measured")
    trace = replace(build_trace(10), model="gpt2")
    save(folder / "gpt2/trace.json.gz", trace)
    save(folder / "gpt2/trained.json.gz", build_capture(trace))
    return Study(folder, jobs=1)


@pytest.fixture(scope="session")
def made(study):
    return {artefact: artefact.rows(study) for artefact in chosen(SHOWN)}


@pytest.fixture(scope="session")
def results(study, made, tmp_path_factory):
    """The folder."""
    folder = tmp_path_factory.mktemp("results")
    write_artefacts(folder, made, explorers(study, made), provenance(study, this_machine()))
    return folder


@pytest.fixture
def on_b():
    return platform("B")

"""A small network's results, as `planezip reproduce` writes them, and a browser to read them in."""

import shutil
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
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


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


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium; without one there is nothing to look at the pages with."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no Chromium on this machine: none of {', '.join(CHROMIUM)}")
    with driver.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program)
        yield running
        running.close()


@pytest.fixture
def on_b():
    return platform("B")

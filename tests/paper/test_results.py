"""Committed results are what this code makes of the measurements in the package, to the digit."""

import csv
from pathlib import Path

import pytest

from planezip.planning import PAPER_POLICIES
from planezip.records import platform
from planezip.records.measurements import shipped
from planezip.report.study import Study, Task

RESULTS = Path(__file__).parents[2] / "paper" / "results" / "amd-epyc-2-cores"
STUDY = Study(shipped().folder, jobs=1)
MODEL, PLATFORM = "resnet50", "B"


def committed(name, **wanted):
    """Rows of a table for the model and platform, policy -> overhead as it is written."""
    with open(RESULTS / f"{name}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    wanted |= {"model": MODEL, "platform": PLATFORM}
    mine = [r for r in rows if all(r[column] == value for column, value in wanted.items())]
    return {r["policy"]: r["overhead_pct"] for r in mine}


def made(policies, budget_pct, kept=False):
    tasks = [Task(MODEL, platform(PLATFORM), budget_pct, p, kept) for p in policies]
    return {row.policy: f"{row.overhead_pct:.6g}" for row in STUDY.rows(tasks)}


@pytest.mark.parametrize("budget", [50, 30])
def test_the_papers_policies_plan_as_they_did(budget):
    assert committed("fig4", budget_pct=str(budget)) == made(PAPER_POLICIES, budget)


@pytest.mark.parametrize("semantics", ["freed", "kept"])
def test_compression_in_place_plans_as_it_did(semantics):
    found = committed("in_place", budget_pct="30", semantics=semantics)
    assert found == made(("planezip", "planezip+in-place"), 30, semantics == "kept")
    assert found["planezip"] != found["planezip+in-place"]


def test_planezip_plus_searches_as_it_did():
    found = committed("plus", budget_pct="50", policy="planezip+")
    assert found == made(["planezip+"], 50, kept=True)

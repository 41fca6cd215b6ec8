"""The numbers of the paper's text are computed as its sentences say."""

from dataclasses import replace

import pytest

from planezip.records import iteration_seconds, platform
from planezip.records.measurements import PAPER_MODELS
from planezip.report.artefacts import ARTEFACTS
from planezip.report.artefacts.claim_numbers import Numbers
from planezip.report.artefacts.statements import STATEMENTS
from planezip.report.published import paper
from planezip.report.ratios import Ratio
from planezip.report.rows import Row
from toynet import build_trace

OVERHEADS = {  # budget -> policy -> overhead of every model, in percent
    90.0: {"dte": 2.0, "bw": 0.0, "planezip": 0.0},
    50.0: {"dte": 12.0, "bw": 10.0, "planezip": 4.0},
    30.0: {"dte": 30.0, "bw": 20.0, "planezip": 8.0},
}


def row(model, name, budget, policy):
    overhead = OVERHEADS[budget][policy]
    ours = policy == "planezip"
    kept = "uncompressed bytes eta=1" if budget == 90 and ours else "bytes/copy eta=1"
    return Row(
        model, name, budget, policy, overhead, 1 / (1 + overhead / 100),
        30 if ours else 10, 0.3 if ours else 0.4, 0.001, kept,
    )  # fmt: skip


class FakeStudy:
    """Rows that are known."""

    ratios = "captured"

    def __init__(self, models=PAPER_MODELS):
        self._models = models
        self.trace = lambda model: replace(build_trace(2), model=model)

    def models(self):
        return self._models

    def capture(self, model, weights="trained"):
        return None

    def rows(self, tasks):
        return [
            row(m, name, budget, policy)
            for m in self._models
            for name in "AB"
            for budget, policies in OVERHEADS.items()
            for policy in policies
        ]


@pytest.fixture
def numbers():
    made = Numbers(FakeStudy())
    made.geomean = {"bdi": 1.0, "zvc": 1.2, "bpc": 1.5, "bx": 1.6, "zbx": 1.4, "planezip": 2.0}
    return made


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        ("zvc_ratio", 1.2),
        ("bpc_ratio", 1.5),
        ("best_single_ratio", 1.6),
        ("choice_gain_pct", 25.0),
        ("removed_pct", 60.0),
        ("near_planezip_pct", 45.0),  # a quarter of the way from 4 % at 50 to 8 % at 30
        ("near_bw_pct", 70.0),
        ("near_dte_pct", 78.0),
        ("gpt2_bw_pct", 20.0),
        ("gpt2_planezip_pct", 8.0),
        ("densenet_bw_pct", 10.0),
        ("densenet_planezip_pct", 4.0),
        ("efficientnet_gain_points", 6.0),
        ("vit_bw_pct", 10.0),
        ("aware_plans", 20),
        ("swapped_factor", 3.0),
        ("recomputed_less_pct", 25.0),
    ],
)
def test_a_statement_computes_what_it_says(numbers, claim, value):
    assert STATEMENTS[claim].compute(numbers, "B") == pytest.approx(value)


def test_stalls_are_a_share_of_the_iteration_with_the_plan(numbers):
    lasted_s = iteration_seconds(build_trace(2), platform("A")) * 1.08
    found = STATEMENTS["stall_pct"].compute(numbers, "A")
    assert found == pytest.approx(100 * 0.001 / lasted_s)


def test_every_number_of_the_paper_has_a_statement_and_no_other():
    assert list(paper().claims) == list(STATEMENTS)


def test_what_cannot_be_computed_is_empty():
    rows = ARTEFACTS["claims"].rows(FakeStudy(("gpt2",)))
    found = {r.claim: r.value for r in rows if r.platform in ("B", "both")}
    assert found["gpt2_bw_pct"] == 20.0
    assert found["removed_pct"] is found["zvc_ratio"] is found["near_bw_pct"] is None
    assert found["aware_plans"] is None  # of 70, it says
    assert all("–" in line for line in ARTEFACTS["claims"].grid(rows).rows[:4])


def test_mean_ratios_are_those_of_figure_3(monkeypatch):
    from planezip.report.artefacts import claim_numbers

    ratios = [Ratio("geomean", "bf16", "zvc", 1.25), Ratio("geomean", "fp32", "zvc", 1.1)]
    fake = replace(ARTEFACTS["fig3"], rows=lambda study: ratios)
    monkeypatch.setattr(claim_numbers, "FIG3", fake)
    assert Numbers(FakeStudy()).geomean == {"zvc": 1.25}


def test_what_was_not_measured_leaves_its_rows_empty(study):
    found = {r.claim: r.value for r in ARTEFACTS["claims"].rows(study)}
    assert found["gpt2_bw_pct"] is not None
    assert found["densenet_bw_pct"] is found["stall_pct"] is found["aware_plans"] is None

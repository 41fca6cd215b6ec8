"""`planezip measure` makes measurements, `planezip reproduce` tables and figures from them."""

import json
from dataclasses import replace

import pytest

from planezip.records import Capture, Trace, load, save
from planezip.records.measurements import LENGTHS, PAPER_MODELS
from planezip.report.artefacts import ARTEFACTS
from toynet import build_capture, build_trace


def trace_of(model, tokens=None):
    return replace(build_trace(2), model=model)


@pytest.fixture
def measured(here):
    save(here / "measured/gpt2/trace.json.gz", trace_of("gpt2"))
    save(here / "measured/gpt2/trained.json.gz", build_capture(trace_of("gpt2")))
    return here / "measured"


@pytest.mark.slow
def test_what_takes_no_planning_is_made_from_what_the_package_carries(here, succeed):
    quick = [name for name, artefact in ARTEFACTS.items() if not artefact.tasks]
    assert "Compression ratio" in succeed("reproduce", "--only", ",".join(quick), "--out", "out")
    for name in quick:
        assert (here / f"out/{name}.csv").read_text().count("\n") >= 1
    assert {p.suffix for p in here.glob("out/fig3.*")} == {".csv", ".png", ".svg"}
    assert json.loads((here / "out/machine.json").read_bytes())["cores"]


@pytest.mark.slow
def test_everything_is_made_from_what_the_package_carries(here, succeed):
    succeed("reproduce", "--out", "out")
    assert {p.stem for p in here.glob("out/*.csv")} == set(ARTEFACTS)


def test_only_what_is_asked_for_is_made(here, succeed, measured):
    succeed("reproduce", "--only", "table1, fig3", "--measurements", measured, "--out", "out")
    assert {p.stem for p in here.glob("out/*")} == {"table1", "fig3", "machine"}


def test_the_papers_ratios_need_no_capture(here, succeed, measured):
    (measured / "gpt2/trained.json.gz").unlink()
    arguments = ("--only", "fig4", "--measurements", measured, "--jobs", 1, "--out", "out")
    assert "planezip" not in succeed("reproduce", *arguments, "--json").split("files")[0]
    made = json.loads(succeed("reproduce", *arguments, "--ratios", "paper", "--json"))
    policies = {row["policy"]: row["overhead_pct"] for row in made["fig4"]}
    assert len(policies) == 6
    assert {"out/fig4.csv", "out/fig4.png", "out/fig4.svg"} == set(made["files"])


def test_json_holds_the_rows(here, succeed, measured):
    arguments = ("--only", "table1", "--measurements", measured, "--out", "out", "--json")
    made = json.loads(succeed("reproduce", *arguments))
    assert made["table1"][0]["model"] == "gpt2"
    assert made["files"] == ["out/table1.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "table9", "--out", "out"), "'table9'"),
        (("--measurements", "nothing", "--out", "out"), "planezip measure"),
        (("--out", "trace.json.gz"), "cannot make the folder"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(here, refuse, arguments, message):
    before = sorted(here.rglob("*"))
    assert message in refuse("reproduce", *arguments)
    assert sorted(here.rglob("*")) == before


def test_measuring_makes_what_is_missing_only(here, succeed, monkeypatch):
    from planezip.cli import measuring

    made = []
    monkeypatch.setattr(measuring.Measuring, "check", lambda self: None)  # in test_measure.py
    monkeypatch.setattr(measuring, "trace_model", trace_of)
    monkeypatch.setattr(
        measuring,
        "capture_model",
        lambda name, options: made.append(options) or build_capture(trace_of(name)),
    )
    arguments = ("measure", "gpt2", "resnet50", "--images", "photos", "--text", "book.txt")
    arguments += ("--warmup-steps", 7, "--out", "out")
    shorter = [f"trace_{tokens}" for tokens in LENGTHS[:-1]]
    assert succeed(*arguments).split() == [
        f"out/{model}/{name}.json.gz"
        for model, names in (
            ("gpt2", ("trace", *shorter, "random", "trained", "autocast")),
            ("resnet50", ("trace", "random", "trained")),
        )
        for name in names
    ]
    assert load(here / "out/gpt2/trace.json.gz", Trace) == trace_of("gpt2")
    assert load(here / "out/gpt2/random.json.gz", Capture)
    assert [(str(o.source), o.warmup_steps, o.autocast) for o in made] == [
        ("book.txt", 0, False),
        ("book.txt", 7, False),
        ("book.txt", 7, True),
        ("photos", 0, False),
        ("photos", 7, False),
    ]
    (here / "out/gpt2/trained.json.gz").unlink()
    assert succeed(*arguments) == "out/gpt2/trained.json.gz\n"
    assert len(made) == 6


def test_measuring_does_not_take_what_is_damaged_for_measured(here, refuse):
    (here / "out/resnet50").mkdir(parents=True)
    (here / "out/resnet50/trace.json.gz").write_bytes(b"junk")
    assert "out/resnet50/trace.json.gz" in refuse("measure", "resnet50", "--out", "out")


def test_one_model_is_enough(here, succeed, measured):
    succeed("reproduce", "--only", "fig5,table4", "--measurements", measured, "--out", "out")
    assert (here / "out/fig5.csv").exists()


def test_measuring_refuses_an_unknown_model_before_it_begins(here, refuse):
    line = refuse("measure", "resnet50", "resnet51", "--out", "out")
    assert "'resnet51'" in line
    assert all(model in line for model in PAPER_MODELS)
    assert not (here / "out").exists()

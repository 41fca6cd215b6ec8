"""`planezip measure` makes measurements, `planezip reproduce` tables and figures from them."""

import json
import os
import re
from dataclasses import replace

import pytest

from planezip.records import Capture, Trace, load, save
from planezip.records.measurements import LENGTHS, PAPER_MODELS
from planezip.report.artefacts import ARTEFACTS
from toynet import build_capture, build_trace


def trace_of(model, tokens=None, autocast=False):
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
def test_everything_is_made_from_what_the_package_carries(here, succeed, request):
    succeed("reproduce", "--out", "out")
    assert {p.stem for p in here.glob("out/*.csv")} == set(ARTEFACTS)
    assert (here / "out/report.html").stat().st_size < 3_000_000
    opened = request.getfixturevalue("opened")  # all above needs no browser
    with opened(here / "out", viewport={"width": 375, "height": 800}) as page:
        assert {h.get_attribute("id") for h in page.locator("h2").all()} >= set(ARTEFACTS)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_only_what_is_asked_for_is_made(here, succeed, measured):
    succeed("reproduce", "--only", "table1, fig3", "--measurements", measured, "--out", "out")
    assert {p.stem for p in here.glob("out/*")} == {"table1", "fig3", "machine", "report"}


def test_the_papers_ratios_need_no_capture(here, succeed, measured):
    (measured / "gpt2/trained.json.gz").unlink()
    arguments = ("--only", "fig4", "--measurements", measured, "--jobs", 1, "--out", "out")
    assert "planezip" not in succeed("reproduce", *arguments, "--json").split("files")[0]
    made = json.loads(succeed("reproduce", *arguments, "--ratios", "paper", "--json"))
    policies = {row["policy"]: row["overhead_pct"] for row in made["fig4"]}
    assert len(policies) == 6
    files = ("fig4.csv", "fig4.png", "fig4.svg", "machine.json", "report.html")
    assert {f"out/{name}" for name in files} == set(made["files"])


def test_json_holds_the_rows(here, succeed, measured):
    arguments = ("--only", "table1", "--measurements", measured, "--out", "out", "--json")
    made = json.loads(succeed("reproduce", *arguments))
    assert made["table1"][0]["model"] == "gpt2"
    assert made["files"] == ["out/table1.csv", "out/machine.json", "out/report.html"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "table9", "--out", "out"), "'table9'"),
        (("--only", " , ", "--out", "out"), "names no table or figure; leave it out to make all"),
        (("--only", "", "--out", "out"), "names no table or figure"),
        (("--measurements", "nothing", "--out", "out"), "planezip measure"),
        (("--out", "trace.json.gz"), "cannot make the folder"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(here, refuse, arguments, message):
    def left():  # but for what matplotlib writes when it is imported first
        return sorted(path for path in here.rglob("*") if here / "cache" not in path.parents)

    before = {*left(), here / "cache"}
    assert message in refuse("reproduce", *arguments)
    assert {*left(), here / "cache"} == before


@pytest.mark.parametrize(
    ("name", "odd"), [("table3", "trained.json.gz"), ("table1", "trace.json.gz")]
)
def test_what_fails_later_leaves_no_folder(here, refuse, measured, name, odd):
    (measured / "gpt2" / odd).write_bytes(b"junk")
    arguments = ("--only", name, "--measurements", measured, "--out", "new/out")
    assert odd in refuse("reproduce", *arguments)
    assert not (here / "new").exists()


def test_pipes_among_the_measurements_are_not_waited_for(here, refuse, measured):
    (measured / "gpt2/trained.json.gz").unlink()
    os.mkfifo(measured / "gpt2/trained.json.gz")
    arguments = ("--only", "table3", "--measurements", measured, "--out", "out")
    assert "trained.json.gz: it is no regular file" in refuse("reproduce", *arguments)


def test_pipes_among_the_results_are_not_waited_for(here, refuse):
    (here / "made").mkdir()
    os.mkfifo(here / "made/table1.csv")
    assert "table1.csv: it is no regular file" in refuse("report", "made")


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
            ("gpt2", ("trace", *shorter, "random", "trained", "trace_autocast", "autocast")),
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


def test_a_page_shows_what_a_folder_holds(here, succeed, measured):
    arguments = ("--measurements", measured)
    succeed("reproduce", "--only", "fig4", "--jobs", 1, "--out", "out", *arguments)
    first = (here / "out/report.html").read_text()
    assert succeed("report", "out", *arguments).endswith("read out/report.html\n")
    again = (here / "out/report.html").read_text()
    assert re.findall(r"<h\d.*|<t[hd].*%", again) == re.findall(r"<h\d.*|<t[hd].*%", first)
    succeed("reproduce", "--only", "table1", "--out", "out", *arguments)
    assert b'id="fig4"' not in (here / "out/report.html").read_bytes()
    told = json.loads(succeed("report", "out/", "--json", *arguments))
    assert told == {"shown": ["table1", "fig4"], "files": ["out/report.html"]}
    page = (here / "out/report.html").read_text()
    assert all(f'id="{name}"' in page for name in ("table1", "fig4", "plans-A", "plans-B"))
    succeed("report", "out", "--platform", "B", "--policy", "bw", "--model", "gpt2", *arguments)
    page = (here / "out/report.html").read_text()
    assert 'id="plans-A"' not in page
    assert "BW in 50% of the memory" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "nothing is no folder to show"),
        (("nothing/", "-o", "out"), "cannot read nothing/"),
        (("empty",), "empty holds no table or figure"),
        (("empty", "-o", "out"), "-o does not belong"),
        (("empty", "--capture", "capture.json"), "--capture does not belong"),
        (("empty", "--budget", "50"), "--budget does not belong"),
        (("trace.json.gz", "--model", "gpt2", "-o", "out"), "--model does not belong"),
        (("trace.json.gz", "--measurements", "x", "-o", "out"), "--measurements does not belong"),
        (("trace.json.gz",), "say with -o FOLDER"),
        (("full", "--policy", "best"), "'best'"),
        (("full", "--model", "resnet51"), "figure 4 has no model 'resnet51'; choose from: gpt2"),
        (("full", "--platform", "h200"), "no overheads of gpt2 on platform h200"),
        (("full", "--platform", "C"), "'C'"),
        (("full", "--ratios", "paper"), "made from other measurements or ratios"),
        (("damaged",), "damaged/fig4.csv"),
    ],
)
def test_a_folder_that_cannot_be_shown_is_named_in_one_line(
    here, succeed, refuse, measured, arguments, message
):
    (here / "empty").mkdir()
    options = ("--measurements", measured)
    if arguments[0] in ("full", "damaged"):
        succeed("reproduce", "--only", "fig4", "--jobs", 1, "--out", arguments[0], *options)
    (here / "full/report.html").unlink(missing_ok=True)
    if arguments[0] == "damaged":
        cut = (here / "damaged/fig4.csv").read_bytes()[:-20]
        (here / "damaged/fig4.csv").write_bytes(cut)
    shipped = arguments[0] in ("trace.json.gz", "nothing", "nothing/")
    assert message in refuse("report", *arguments, *(() if shipped else options))
    assert not (here / "full/report.html").exists()


def test_an_unknown_model_is_named_before_anything_is_planned(here, refuse, measured):
    arguments = ("reproduce", "--model", "resnet51", "--measurements", measured, "--out", "out")
    assert "no model 'resnet51' was measured; choose from: gpt2" in refuse(*arguments)
    assert not (here / "out").exists()

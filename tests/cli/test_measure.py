"""measure: its data is checked before the first model runs; nothing is taken for another."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from planezip.cli import measuring, options
from planezip.records import Capture, load, save
from planezip.report.machine import this_machine
from planezip.workloads import registry
from tinynet import tinynet
from tinytext import tinytext

MADE = ["trace.json.gz", "random.json.gz", "trained.json.gz"]


@pytest.fixture
def tiny(here, monkeypatch):
    """All workloads train in a blink, and are told apart by their data alone."""
    for name in registry.WORKLOADS:
        make = tinytext if registry.WORKLOADS[name]().source == "text" else tinynet
        monkeypatch.setitem(
            registry.WORKLOADS, name, lambda tokens=None, m=make, n=name: replace(m(), name=n)
        )
    (here / "photographs").mkdir()
    Image.fromarray(np.full((40, 50, 3), 90, np.uint8)).save(here / "photographs/cat.png")
    return here


def never(*arguments):
    raise AssertionError("a model ran")


@pytest.fixture
def idle(monkeypatch):
    for name in ("trace_model", "capture_model"):
        monkeypatch.setattr(measuring, name, never)


def measure(*extra):
    return ("measure", "resnet50", "--warmup-steps", 1, "--out", "m", *extra)


def test_every_capture_says_on_what_machine_it_was_made(tiny, succeed, monkeypatch):
    told = json.loads(succeed(*measure("--json")))
    assert told["files"] == [f"m/resnet50/{name}" for name in MADE]
    path = tiny / "m/resnet50/trained.json.gz"
    assert load(path, Capture).machine == this_machine()
    (tiny / "m/resnet50/random.json.gz").unlink()
    other = replace(this_machine(), cpu="another")
    monkeypatch.setattr("planezip.tracing.capture.this_machine", lambda: other)
    succeed(*measure())
    assert load(path, Capture).machine == this_machine()
    assert load(tiny / "m/resnet50/random.json.gz", Capture).machine == other
    assert "another" in succeed("inspect", "m/resnet50/random.json.gz")


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--images", "nowhere"], "nowhere"),
        (["gpt2", "--text", "nowhere"], "nowhere"),
        (["gpt2", "--text", "photographs"], "photographs"),
        (["gpt2", "--text", "short.txt"], "short.txt has 1 token,"),
        (["--images", "broken"], "cat.png"),
        (["--text", "short.txt"], "none of the models to measure trains on short.txt"),
    ],
)
def test_data_is_checked_before_a_model_runs(tiny, refuse, given, said):
    (tiny / "short.txt").write_text("a")
    (tiny / "broken").mkdir()
    (tiny / "broken/cat.png").write_text("no picture")
    assert said in refuse(*measure(*given))
    assert not (tiny / "m").exists()


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (["--warmup-steps", 2], "weights: random + 1 warm-up step, not random + 2 warm-up steps"),
        (["--images", "photographs"], "not 1 photograph of photographs"),
    ],
)
def test_what_was_measured_otherwise_is_not_taken(tiny, succeed, refuse, monkeypatch, extra, said):
    succeed(*measure())
    before = {p: p.read_bytes() for p in tiny.glob("m/**/*.gz")}
    for name in ("trace_model", "capture_model"):
        monkeypatch.setattr(measuring, name, never)
    line = refuse(*measure(*extra))
    assert said in line
    assert "remove it to measure it again" in line
    assert {p: p.read_bytes() for p in tiny.glob("m/**/*.gz")} == before
    assert succeed(*measure()) == ""


def test_captures_of_fewer_iterations_are_not_taken(tiny, succeed, refuse):
    succeed(*measure())
    path = tiny / "m/resnet50/random.json.gz"
    whole = load(path, Capture)
    save(path, replace(whole, iterations=whole.iterations[:1], losses=whole.losses[:1]))
    assert "iterations: 1, not 3" in refuse(*measure())


@pytest.mark.parametrize("command", ["trace", "capture", "measure"])
def test_help_lists_the_models(succeed, command):
    text = " ".join(succeed(command, "--help").split())
    assert f"Models: {', '.join(options.MODELS)}." in text
    assert set(options.MODELS) == set(registry.WORKLOADS)


def test_a_pipe_for_a_text_is_not_waited_for(tiny, refuse):
    os.mkfifo(tiny / "pipe")
    assert "no regular file" in refuse("capture", "gpt2", "--text", "pipe")

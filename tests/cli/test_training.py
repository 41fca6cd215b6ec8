"""trace, capture and demo train models and say what they found."""

import json
import re
import shutil
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import save_file

import planezip as library
from planezip.cli.main import COMMANDS
from planezip.records import Capture, Trace, load, measurements, save
from planezip.session import Session
from planezip.workloads import registry
from tinynet import tinynet
from tinytext import tinytext

DOCUMENTED = Path(__file__).parents[2] / "docs" / "examples" / "my_file.py"


@pytest.fixture
def tiny(monkeypatch):
    """All workloads become networks that train in a blink."""
    for name in registry.WORKLOADS:
        make = tinytext if registry.WORKLOADS[name]().source == "text" else tinynet
        monkeypatch.setitem(
            registry.WORKLOADS,
            name,
            lambda tokens=None, m=make, n=name: replace(m(), name=n),
        )


@pytest.fixture
def photographs(here):
    folder = here / "photographs"
    folder.mkdir()
    for name in ("cat.jpg", "dog.png"):
        Image.fromarray(np.full((40, 50, 3), 90, np.uint8)).save(folder / name)
    return folder


def test_resnet50_is_traced_as_in_the_paper(succeed):
    summary = json.loads(succeed("trace", "resnet50", "--json"))["summary"]
    assert summary["batch"] == 128
    assert summary["params_millions"] == pytest.approx(25.6, abs=0.05)
    assert abs(summary["saved_tensors"] - 216) <= 2
    assert summary["saved_gb"] == pytest.approx(11.0, rel=0.01)
    assert summary["ops"] == pytest.approx(896, rel=0.01)


def test_a_trace_is_written_at_the_batch_asked_for(here, tiny, succeed):
    text = succeed("trace", "resnet50", "--batch", 4, "-o", "t.json")
    assert "batch 4" in text
    assert load("t.json", Trace).batch == 4


def test_a_trace_is_written_at_the_length_asked_for(here, succeed):
    told = [
        json.loads(succeed("trace", "gpt2", "--tokens", n, "--json"))["summary"] for n in (8, 16)
    ]
    assert told[0]["ops"] == told[1]["ops"]
    assert told[0]["saved_gb"] < told[1]["saved_gb"]


def test_a_models_name_stands_for_its_trace(here, tiny, succeed):
    told = json.loads(succeed("plan", "resnet50", "--budget", "90%", "--json"))
    assert told["model"] == "resnet50"


def test_a_capture_is_written_and_told(here, tiny, succeed):
    told = json.loads(succeed("capture", "resnet50", "--warmup-steps", 2, "-o", "c.json", "--json"))
    capture = load("c.json", Capture)
    assert capture.weights == told["weights"] == "random + 2 warm-up steps"
    assert len(capture.iterations) == len(told["losses"]) == 3
    assert told["ratios"]["bf16"]["planezip"] > 1
    assert set(told["ratios"]) == {"bf16", "fp32"}
    text = succeed("capture", "resnet50", "--iterations", 1)
    assert "PlaneZip" in text
    assert "random" in text


def test_captures_with_equal_seeds_are_equal(here, tiny, succeed):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        succeed("capture", "resnet50", "--seed", seed, "-o", name)
    assert (here / "a").read_bytes() == (here / "b").read_bytes()
    assert (here / "a").read_bytes() != (here / "c").read_bytes()


def test_photographs_of_a_folder_are_used(here, tiny, succeed, photographs):
    told = json.loads(succeed("capture", "resnet50", "--images", photographs, "--json"))
    assert told["data"] == "2 photographs of photographs"


def test_gpt2_is_traced_as_in_the_paper(succeed):
    summary = json.loads(succeed("trace", "gpt2", "--json"))["summary"]
    assert summary["batch"] == 8
    assert summary["params_millions"] == pytest.approx(124.4, abs=0.05)
    assert summary["saved_tensors"] == pytest.approx(275, rel=0.02)
    assert summary["saved_gb"] == pytest.approx(21.2, rel=0.02)
    assert summary["ops"] == pytest.approx(2115, rel=0.1)


@pytest.fixture
def book(here):
    (here / "book.txt").write_text(
        "It was a dark and stormy night; the rain fell in torrents.\n" * 9
    )
    return here / "book.txt"


def test_a_text_is_used(here, tiny, succeed, book):
    told = json.loads(succeed("capture", "gpt2", "--text", book, "--iterations", 1, "--json"))
    assert told["data"] == "book.txt"
    assert told["batch"] == 1


@pytest.mark.parametrize("command", [("capture", "resnet50"), ("demo",)], ids=lambda c: c[0])
def test_a_text_for_photographs_is_refused(here, tiny, refuse, book, command):
    line = refuse(*command, "--text", book)
    assert "resnet50 does not train on a text (--text FILE)" in line
    assert "give photographs (--images FOLDER)" in line


def test_photographs_for_a_text_are_refused(here, tiny, refuse, photographs):
    line = refuse("capture", "gpt2", "--images", photographs)
    assert "gpt2 does not train on photographs (--images FOLDER)" in line
    assert "give a text (--text FILE)" in line


def test_unreachable_weights_are_said_on_stderr_and_in_the_capture(here, tiny, planezip):
    result = planezip("capture", "resnet50", "--pretrained", "--json")
    told = json.loads(result.stdout)
    assert told["weights"] == "random"
    (note,) = told["notes"]
    assert note in result.stderr


@pytest.mark.parametrize("command", ["capture", "demo"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--images", "nowhere"], "nowhere"),
        (["--images", "empty"], "empty"),
        (["--batch", "0"], "--batch"),
        (["--warmup-steps", "-1"], "--warmup-steps"),
    ],
)
def test_bad_input_is_named_in_one_line(here, tiny, planezip, command, options, said):
    (here / "empty").mkdir()
    result = planezip(command, *(["resnet50"] if command == "capture" else []), *options)
    assert result.exit_code == 2
    last = result.stderr.strip().split("\n")[-1]
    assert last.startswith("planezip: ")
    assert said in last


def test_an_output_that_cannot_be_written_is_named_before_the_work(here, refuse):
    (here / "taken").write_text("")
    assert "taken" in refuse("demo", "--out", "taken")


def test_the_demo_writes_everything_and_tells_it(here, tiny, planezip):
    result = planezip("demo", "--out", "out/demo", "--warmup-steps", 1)
    assert result.exit_code == 0
    found = {p.name for p in (here / "out/demo").iterdir()}
    assert {"trace.json.gz", "capture.json.gz", "report.html", "overheads.csv"} <= found
    assert {"ratio.png", "throughput.png", "timelines"} <= found
    for said in ("Compression ratio", "platform A", "platform B", "report.html"):
        assert said in result.stdout
    stages = [line.rpartition(":")[0] for line in result.stderr.strip().split("\n")]
    assert stages == [
        "trace one iteration",
        "warm up 1 step",
        "capture 3 iterations",
        "plan and simulate",
        "write tables, plots and page",
    ]


def test_an_interrupted_demo_leaves_only_whole_files(here, tiny, planezip, monkeypatch):
    from planezip.cli import reporting

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(reporting, "write_report", interrupt)
    result = planezip("demo", "--out", "out", "--warmup-steps", 0)
    assert result.exit_code == 130
    assert result.stderr.endswith("planezip: interrupted\n")
    assert sorted(p.name for p in (here / "out").iterdir()) == ["capture.json.gz", "trace.json.gz"]


def examples(name: str) -> list[str]:
    epilog = import_module(f"planezip.cli.{name.replace('-', '_')}").command.epilog
    return re.findall(r"^ +planezip (.*)$", epilog, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_in_the_help_work(
    here, tiny, succeed, photographs, book, name, monkeypatch, trace, capture
):
    monkeypatch.setattr(measurements, "PAPER_MODELS", ("resnet50",))
    monkeypatch.setattr(measurements, "OTHER_MODELS", ("llama",))
    own = measurements.Measurements(here / "measured")
    for model in ("resnet50", "densenet121"):
        save(own.path(model, "trace"), replace(trace, model=model, batch=16))
    save(own.path("densenet121", "trained"), replace(capture, model="densenet121"))
    monkeypatch.setattr(measurements, "shipped", lambda: own)
    if name in ("run", "train-demo"):  # no activation of these networks is worth a copy
        monkeypatch.setattr("planezip.cli.running.Session", partial(Session, min_bytes=0))
    if name == "run":  # nor can they do with half of the memory
        monkeypatch.setattr("planezip.cli.running._share", {"50%": 1.0}.get)
    if name in ("plan", "inspect", "report"):
        succeed("trace", "resnet50", "-o", "trace.json.gz")
    if name == "report":
        succeed("capture", "resnet50", "-o", "capture.json.gz")
    shutil.copy(DOCUMENTED, here)
    values = np.linspace(0, 1, 5000, dtype=np.float32)
    (here / "values.npy.pz").write_bytes(library.compress(values))
    save_file({"layers.0.weight": values}, "model.safetensors")
    if name in ("decompress", "inspect"):
        succeed("compress", "model.safetensors")
        (here / "model.safetensors").unlink()
    if name == "compress":
        np.save("activations.npy", values)
        (here / "weights.bin").write_bytes(values.tobytes())
    elif name == "decompress":
        (here / "activations.npy.pz").write_bytes(library.compress(values))
    assert examples(name)
    for line in examples(name):
        succeed(*line.split())

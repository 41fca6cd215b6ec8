"""A user's own model: `planezip trace file.py:function`, and one line for each of its mistakes."""

import json
import re
import shutil
from pathlib import Path

import pytest

from planezip.records import Capture, Trace, load

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "my_file.py"
NAME = "my_file.py:make_step"


@pytest.fixture
def example(here):
    shutil.copy(EXAMPLE, here)
    return here


def test_the_example_is_traced_at_the_batch_asked_for(example, succeed):
    told = json.loads(succeed("trace", NAME, "--batch", 64, "-o", "t.json", "--json"))
    trace = load("t.json", Trace)
    assert (trace.model, trace.batch, told["summary"]["batch"]) == (NAME, 64, 64)
    assert trace.parameters == 3 * 9 * 32 + 32 + 2 * 32 + 32 * 225 * 10 + 10
    names = [op.name for op in trace.ops]
    assert "aten.native_dropout.default" in names
    assert names.count("aten._foreach_add_.List") == 0
    images = next(trace.storages[s] for op in trace.ops for s in op.writes)
    assert images.bytes == 64 * 3 * 32 * 32 * 4
    assert trace.saved == trace.saved_by_hooks


def test_its_trace_needs_no_memory(example, succeed):
    summary = json.loads(succeed("trace", NAME, "--batch", 100_000, "--json"))["summary"]
    assert summary["saved_gb"] > 30


def test_the_trace_is_that_of_a_real_run(example, succeed):
    succeed("trace", NAME, "-o", "t.json")
    succeed("capture", NAME, "--iterations", 2, "-o", "c.json")
    trace, capture = load("t.json", Trace), load("c.json", Capture)
    assert (capture.model, capture.batch) == (trace.model, trace.batch) == (NAME, 8)
    assert capture.op_names == tuple(op.name for op in trace.ops)
    saved = [trace.storages[s] for s in trace.saved]
    for iteration in capture.iterations:
        assert [(t.op, t.slot, t.bytes) for t in iteration] == [
            (s.producer, s.slot, s.bytes) for s in saved
        ]
    assert (capture.weights, capture.notes) == ("own", ())


def test_it_is_planned_and_reported_like_any_other(example, succeed):
    succeed("trace", NAME, "-o", "t.json")
    succeed("capture", NAME, "--warmup-steps", 2, "--iterations", 2, "-o", "c.json")
    assert load("c.json", Capture).weights == "own + 2 warm-up steps"
    told = succeed("plan", "t.json", "--capture", "c.json", "--budget", "80%", "--json")
    assert json.loads(told)["model"] == NAME


def test_captures_with_equal_seeds_are_equal(example, succeed):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        succeed("capture", NAME, "--iterations", 1, "--seed", seed, "-o", name)
    assert (example / "a").read_bytes() == (example / "b").read_bytes()
    assert (example / "a").read_bytes() != (example / "c").read_bytes()


def test_the_documented_example_is_this_one():
    """About twenty lines, shown as they are."""
    code = EXAMPLE.read_text()
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "docs/own-models.md").read_text(), re.DOTALL)
    assert shown == [code]


HEAD = """import torch
from torch import nn
linear = nn.Linear(2, 1)
def loss():
    return linear.weight.sum()
"""
MISTAKES = {
    "syntax": ("def make_step(:\n", "own.py, line 1: SyntaxError"),
    "import": ("import nowhere_to_be_found\n", "own.py, line 1: ModuleNotFoundError"),
    "exit": ("import sys\nsys.exit(3)\n", "own.py, line 2: SystemExit: 3"),
    "no function": ("x = 1\n", "own.py has no function make_step"),
    "not callable": ("make_step = 1\n", "own.py has no function make_step"),
    "raises": ("def make_step():\n    return 1 / 0\n", "own.py, line 2: ZeroDivisionError"),
    "none": ("def make_step():\n    pass\n", "returned None; return a torch.nn.Module"),
    "three": ("def make_step():\n    return 1, 2, 3\n", "returned 3 values"),
    "no module": (HEAD + "def make_step():\n    return 1, loss\n", "of type int as the model"),
    "no loss": (HEAD + "def make_step():\n    return linear, 1\n", "of type int as the loss"),
    "nothing to train": (
        HEAD + "def make_step():\n    return nn.ReLU(), loss\n",
        "has no parameters to train",
    ),
    "loss raises": (
        HEAD + "def make_step():\n    def bad():\n        return linear(torch.ones(3, 5))\n"
        "    return linear, bad\n",
        "own.py, line 8: RuntimeError",
    ),
    "loss is no scalar": (
        HEAD + "def make_step():\n    return linear, lambda: linear.weight * 2\n",
        "return a scalar",
    ),
    "needs a batch": (
        HEAD + "def make_step(batch):\n    return linear, loss\n",
        "needs a batch; give its parameter a default, or --batch",
    ),
    "backward": (
        HEAD + "def make_step():\n    def bad():\n        y = linear.weight.exp()\n"
        "        z = y.sum()\n        y.add_(1)\n        return z + y.detach().sum() * 0\n"
        "    return linear, bad\n",
        "modified by an in-place operation after it was saved",
    ),
}


@pytest.mark.parametrize("command", ["trace", "capture"])
@pytest.mark.parametrize(("code", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_in_one_line(here, refuse, code, said, command):
    (here / "own.py").write_text(code)
    assert said in refuse(command, "own.py:make_step")


def test_looking_at_values_is_refused_where_there_are_none(here, refuse, succeed):
    (here / "own.py").write_text(
        HEAD + "def make_step():\n    def picky():\n        y = linear.weight.exp().sum()\n"
        "        return y if y > 0 else -y\n    return linear, picky\n"
    )
    line = refuse("trace", "own.py:make_step")
    assert "own.py, line 9: it looks at the values of a tensor" in line
    succeed("capture", "own.py:make_step", "--iterations", 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.py:make_step"], "cannot read nowhere.py: there is no such file"),
        (["my_file.py"], "my_file.py:make_step"),
        (["my_file.py:other"], "my_file.py has no function other"),
    ],
)
def test_what_is_not_there_is_named(example, refuse, arguments, said):
    assert said in refuse("trace", *arguments)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--images", "x"], "leave out --images and --text"),
        (["--text", "x"], "leave out --images and --text"),
        (["--pretrained"], "leave out --pretrained"),
    ],
)
def test_options_of_the_workloads_are_refused(example, refuse, option, said):
    assert said in refuse("capture", NAME, *option)


def test_a_batch_without_a_parameter_is_refused(here, refuse, succeed):
    (here / "own.py").write_text(HEAD + "def make_step():\n    return linear, loss\n")
    assert "has no parameter batch" in refuse("trace", "own.py:make_step", "--batch", 3)
    assert json.loads(succeed("trace", "own.py:make_step", "--json"))["summary"]["batch"] == 1

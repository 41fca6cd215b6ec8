"""The warm-up of a user's own model: as safe against interruptions as that of the paper's."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
import torch

from planezip.records import Capture, load
from planezip.workloads import UserStep, resumable, warm_up_user

STEPS = 4
OWN = """
import random
import numpy as np
import torch
from torch import nn

from aside import SCALE


def make_step(batch: int = 4):
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 1))

    def compute_loss(step):
        x = torch.randn(batch, 3) * (step + 1) + random.random() + np.random.rand()
        return SCALE * model(x.float()).square().mean()

    return model, compute_loss
"""


@pytest.fixture
def own(here, monkeypatch):
    """A file whose loss depends on the step, on a module beside it and on all random numbers."""
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.delitem(sys.modules, "aside", raising=False)
    (here / "own.py").write_text(OWN)
    (here / "aside.py").write_text("SCALE = 1.0\n")
    return here


class Interrupted(Exception):
    pass


def train(steps, cache, batch=None, seed=0, stop_after=None):
    step = UserStep(Path("own.py"), "make_step")
    made = step.make(batch, seed)

    def on_step(done, total, loss):
        if stop_after is not None and done > stop_after:
            raise Interrupted

    done = warm_up_user(step, made, steps, seed=seed, cache=cache, on_step=on_step)
    return done, made.model.state_dict()


@pytest.mark.parametrize("stop_after", [1, STEPS - 1])
def test_an_interrupted_warm_up_ends_the_same(own, monkeypatch, stop_after):
    monkeypatch.setattr(resumable, "_SAVE_WITHIN_S", 0.0)
    whole, expected = train(STEPS, None)
    with pytest.raises(Interrupted):
        train(STEPS, own / "cache", stop_after=stop_after)
    resumed, state = train(STEPS, own / "cache")
    assert resumed.resumed_after == stop_after
    assert resumed.losses == whole.losses
    assert len(set(whole.losses)) == STEPS
    assert all(torch.equal(state[name], value) for name, value in expected.items())
    assert resumed.notes == ()


def test_the_command_does_not_repeat_a_finished_warm_up(own, planezip):
    line = ("capture", "own.py:make_step", "--warmup-steps", STEPS, "--iterations", 1)
    first = planezip(*line, "-o", "a.json")
    (checkpoint,) = (own / "cache/planezip/warmup").iterdir()
    assert re.fullmatch(rf"own-[0-9a-f]{{16}}-{STEPS}\.pt", checkpoint.name)
    written = checkpoint.stat().st_mtime_ns
    second = planezip(*line, "-o", "b.json")
    assert first.exit_code == second.exit_code == 0
    assert checkpoint.stat().st_mtime_ns == written
    assert (own / "a.json").read_bytes() == (own / "b.json").read_bytes()
    assert f"warm up {STEPS} steps: " in first.stderr
    assert f"warm up {STEPS} steps ({STEPS} from a checkpoint): " in second.stderr


def change(file, old, new):
    def apply(folder):
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))

    return apply


@pytest.mark.parametrize(
    "changed",
    [
        {"batch": 5},
        {"seed": 1},
        {"edit": change("own.py", "Dropout(0.2)", "Dropout(0.3)")},
        {"edit": change("aside.py", "1.0", "2.0")},
        {"edit": change("own.py", "return model, compute_loss", "return model, compute_loss # x")},
    ],
    ids=["batch", "seed", "file", "module beside it", "comment"],
)
def test_another_training_does_not_use_the_checkpoint(own, monkeypatch, changed):
    train(STEPS, own / "cache")
    monkeypatch.delitem(sys.modules, "aside")
    if edit := changed.pop("edit", None):
        edit(own)
    assert train(STEPS, own / "cache", **changed)[0].resumed_after == 0


def test_other_library_versions_do_not_use_the_checkpoint(own, monkeypatch):
    train(STEPS, own / "cache")
    monkeypatch.setattr("planezip.workloads.user_training.version", lambda library: "0")
    assert train(STEPS, own / "cache")[0].resumed_after == 0


def test_a_capture_after_a_resumed_warm_up_says_what_began_anew(here, planezip):
    shutil.copy(Path(__file__).parents[2] / "docs" / "examples" / "my_file.py", here)
    line = ("capture", "my_file.py:make_step", "--iterations", 1, "-o", "c.json")
    for steps, notes in ((1, 0), (2, 1)):
        result = planezip(*line, "--warmup-steps", steps)
        assert result.exit_code == 0, result.output
        capture = load("c.json", Capture)
        assert len(capture.notes) == notes
    assert "resumed after 1 warm-up step;" in capture.notes[0]
    assert "a parameter step" in capture.notes[0]
    assert capture.notes[0] in result.stderr


def test_a_model_whose_state_is_no_plain_tensors_is_trained_without_checkpoints(here, planezip):
    (here / "odd.py").write_text(
        "import torch\nclass Odd(torch.nn.Linear):\n"
        "    def get_extra_state(self):\n        return object()\n"
        "    def set_extra_state(self, state):\n        pass\n"
        "def make_step():\n    model = Odd(2, 1)\n"
        "    return model, lambda: model(torch.ones(3, 2)).exp().sum()\n"
    )
    result = planezip("capture", "odd.py:make_step", "--warmup-steps", 1, "-o", "c.json")
    assert result.exit_code == 0, result.output
    assert "something else than plain tensors" in load("c.json", Capture).notes[0]
    assert not (here / "cache").exists()


def test_a_loss_that_is_no_number_names_what_the_user_can_change(here, refuse):
    (here / "own.py").write_text(OWN.replace("from aside import SCALE", "SCALE = 1e30"))
    line = refuse("capture", "own.py:make_step", "--warmup-steps", 9)
    assert "the loss of own.py:make_step is nan after" in line or "is inf after" in line
    assert "scale the loss down" in line


def test_batches_by_step_go_on_where_the_warm_up_ended(here, succeed):
    (here / "own.py").write_text(
        "import torch\nmodel = torch.nn.Linear(1, 1)\ndef make_step():\n"
        "    def loss(step):\n        print('step', step)\n"
        "        return model(torch.ones(2, 1) * step).exp().mean()\n    return model, loss\n"
    )
    told = json.loads(
        succeed("capture", "own.py:make_step", "--warmup-steps", 2, "--iterations", 2, "--json")
    )
    assert len(told["losses"]) == 2


def test_prints_of_a_users_code_leave_stdout_alone(here, planezip, capfd):
    (here / "own.py").write_text(
        "import os, torch\nprint('module')\nlinear = torch.nn.Linear(2, 1)\n"
        "def make_step():\n    print('made')\n    os.system('echo child')\n    def loss():\n"
        "        print('loss')\n        return linear(torch.ones(3, 2)).exp().sum()\n"
        "    return linear, loss\n"
    )
    for command in ("trace", "capture"):
        result = planezip(command, "own.py:make_step", "--json")
        assert json.loads(result.stdout)
        for said in ("module", "made", "loss"):
            assert said in result.stderr
        out, err = capfd.readouterr()
        assert (out, err) == ("", "child\n")

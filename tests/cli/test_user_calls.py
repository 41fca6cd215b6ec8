"""How a user's functions are called, and what they may return or raise: one line where they err."""

import json
import os
import signal
import subprocess
import sys

import pytest

from planezip.records import Trace, load

HEAD = """import asyncio, torch
from torch import nn
linear = nn.Linear(2, 1)
class Own(BaseException):
    pass
class Mute(Exception):
    def __str__(self):
        raise Own
"""
GOOD = "lambda: linear(torch.ones(3, 2)).exp().mean()"
COMMANDS = {
    "trace": ("trace",),
    "capture": ("capture", "--iterations", 1),
    "warm-up": ("capture", "--iterations", 1, "--warmup-steps", 1),
    "run": ("run", "--budget", "1GiB", "--steps", 3),
}
every_command = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)


def write(here, loss=GOOD, parameters="", before="pass"):
    (here / "own.py").write_text(
        f"{HEAD}def make_step({parameters}):\n    {before}\n    return linear, {loss}\n"
    )


def call(command):
    return command[0], "own.py:make_step", *command[1:]


@every_command
def test_a_function_that_needs_more_than_a_batch_is_told_of(here, refuse, command):
    write(here, parameters="cfg, batch, *more, size, rest=1, **others")
    line = refuse(*call(command))
    assert "own.py:make_step needs cfg and size, but is told batch at most" in line
    assert "give them defaults" in line


NEEDY = {
    "model": "lambda model: model",
    "model, too": "lambda model, step: model",
    "model, by position": "lambda model, /, step=0: model",
    "by name": "lambda *, model: model",
    "a module": "linear",
}


@every_command
@pytest.mark.parametrize("loss", NEEDY.values(), ids=NEEDY)
def test_a_loss_that_needs_more_than_a_step_is_told_of(here, refuse, loss, command):
    write(here, loss)
    line = refuse(*call(command))
    needed = "input" if loss == "linear" else "model"
    assert "the function that computes the loss of own.py:make_step needs" in line
    assert f"needs {needed}, but is told step at most; give it a default" in line


STEPS = {
    "by position": "step, /",
    "after others": "other=7, step=None, /",
    "by name": "*, step",
    "in either way": "step",
    "after one by position": "other=7, /, *, step",
}


@pytest.mark.parametrize("parameters", STEPS.values(), ids=STEPS)
def test_a_step_is_told_wherever_its_parameter_stands(here, succeed, parameters):
    (here / "own.py").write_text(
        f"{HEAD}told = []\ndef make_step():\n    def loss({parameters}):\n"
        "        told.append(step)\n        assert told == list(range(len(told)))\n"
        "        return linear(torch.ones(3, 2)).exp().mean()\n    return linear, loss\n"
    )
    succeed("capture", "own.py:make_step", "--warmup-steps", 2, "--iterations", 2)


def test_parameters_that_gather_the_rest_ask_for_nothing(here, succeed):
    write(here, f"lambda *step, **batch: ({GOOD})()", "*batch, **step")
    succeed("trace", "own.py:make_step", "-o", "t.json")
    assert load("t.json", Trace).batch == 1


def test_a_batch_may_be_given_by_position_alone(here, succeed):
    write(here, "lambda: linear(torch.ones(batch, 2)).exp().mean()", "batch=3, /")
    for option, size in (((), 3), (("--batch", 5), 5)):
        told = json.loads(succeed("trace", "own.py:make_step", *option, "--json"))
        assert told["summary"]["batch"] == size


NO_LOSSES = {
    "none": ("lambda: None", "is None; return a scalar tensor"),
    "float": ("lambda: 1.0", "is of type float; return a scalar tensor"),
    "tuple": ("lambda: (1, 2)", "is of type tuple; return a scalar tensor"),
    "dict": ("dict", "is of type dict; return a scalar tensor"),
    "generator": ("lambda: (yield)", "is of type generator; return a scalar tensor"),
    "coroutine": ("coroutine", "is of type coroutine; return a scalar tensor"),
    "vector": ("lambda: linear.weight * 2", "return a scalar of a floating-point type"),
    "integer": ("lambda: torch.tensor(1)", "return a scalar of a floating-point type"),
    "complex": ("lambda: torch.tensor(1j)", "return a scalar of a floating-point type"),
    "detached": (f"lambda: ({GOOD})().detach()", "not under no_grad and not detached"),
}


@every_command
@pytest.mark.parametrize(("loss", "said"), NO_LOSSES.values(), ids=NO_LOSSES)
def test_what_is_no_loss_is_refused_with_the_same_advice(here, refuse, loss, said, command):
    write(here, loss, before="async def coroutine(): pass")
    line = refuse(*call(command))
    assert said in line
    assert line.startswith("planezip: own.py:make_step: ")


@every_command
@pytest.mark.parametrize("size", ["0", "-5", "True", "None", "2.0", "'8'", "1 << 63"])
def test_a_default_batch_of_no_size_is_refused(here, refuse, succeed, size, command):
    write(here, parameters=f"batch={size}")
    line = refuse(*call(command))
    assert "own.py:make_step has " in line
    assert "as the default of its parameter batch; make it a whole number above 0, or" in line
    succeed("trace", "own.py:make_step", "--batch", 4)


RAISED = {
    "mute": ("raise Mute", "Mute: what it says cannot be had, since that raises Own"),
    "own": ("raise Own('of mine')", "Own: of mine"),
    "generator exit": ("raise GeneratorExit", "GeneratorExit"),
    "cancelled": ("raise asyncio.CancelledError", "CancelledError"),
    "exit": ("raise SystemExit(0)", "SystemExit: 0"),
}


@every_command
@pytest.mark.parametrize(("code", "said"), RAISED.values(), ids=RAISED)
def test_whatever_is_raised_is_told_in_one_line(here, refuse, code, said, command):
    write(here, before=code)
    assert f"own.py, line 10: {said}" in refuse(*call(command))
    write(here, "loss", before=f"def loss(): {code}")
    assert f"own.py, line 10: {said}" in refuse(*call(command))


@every_command
def test_a_function_from_elsewhere_is_the_users_business(here, refuse, command):
    write(here, "torch.relu")
    line = refuse(*call(command))
    assert "in a function from elsewhere that it names or returns: TypeError: relu()" in line


@pytest.mark.parametrize(
    ("code", "status"),
    [("raise KeyboardInterrupt", 130), (f"os.kill(os.getpid(), {int(signal.SIGTERM)})", 143)],
)
def test_an_interrupt_within_the_users_code_stays_one(here, code, status):
    write(here, before=f"import os; {code}")
    program = "from planezip.cli.entry import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "trace", "own.py:make_step"],
        cwd=here,
        env={**os.environ, "PYTHONWARNINGS": ""},
        capture_output=True,
        check=False,
    )
    assert done.returncode == status
    assert b"failed" not in done.stderr


@pytest.mark.parametrize("command", ["trace", "capture"])
def test_a_colon_without_a_function_is_refused_with_what_to_write(here, refuse, command):
    write(here)
    assert "names no function after the colon; write for example own.py:make_step" in refuse(
        command, "own.py:"
    )


def test_a_modified_activation_is_told_of_with_the_models_name(here, refuse):
    loss = "lambda: (lambda y: (y * y).sum() + y.add_(1).sum())(linear.weight.exp())"
    write(here, loss)
    line = refuse("trace", "own.py:make_step")
    assert line.startswith("planezip: own.py:make_step: ")
    assert "modified by an in-place operation" in line

"""Names and records that others wrote are shown as they are, and do nothing to the terminal."""

import dataclasses
import json
import os
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from safetensors.numpy import save_file

from planezip.records import Plan, save
from planezip.report.printable import printable

NASTY = "x[/b] [bold]\x1b]0;title\x07\x9b31m\u202e :smile:"
SHOWN = "x[/b] [bold]\\x1b]0;title\\x07\\x9b31m\\u202e :smile:"
BYTES = os.fsdecode(b"\xff\xfe.npy")


@pytest.fixture
def shown(succeed):
    """What a command prints, its lines joined as they were before the table broke them."""
    return lambda *arguments: " ".join(succeed(*arguments).split())


def test_what_terminals_show_stays_and_what_they_obey_is_escaped():
    assert printable("plain – ü █ [/b]") == "plain – ü █ [/b]"
    assert printable(NASTY + "\n" + BYTES) == SHOWN + "\\n\\udcff\\udcfe.npy"


def test_captures_are_shown_as_they_are_written(here, shown, capture):
    forged = dataclasses.replace(capture, model=NASTY, weights=NASTY, data=NASTY, notes=(NASTY,))
    save(here / "forged.json", forged)
    assert shown("inspect", "forged.json").count(SHOWN) == 5


def test_traces_are_shown_as_they_are_written(here, shown, trace):
    save(here / "forged.json", dataclasses.replace(trace, model=NASTY))
    assert SHOWN in shown("inspect", "forged.json")


def test_plans_are_shown_as_they_are_written(here, shown):
    shown("plan", "trace.json.gz", "--budget", "90%", "-o", "plan.json")
    plan = msgspec.json.decode((here / "plan.json").read_bytes(), type=Plan)
    for field in ("model", "policy", "candidate"):
        save(here / "forged.json", dataclasses.replace(plan, **{field: NASTY}))
        assert SHOWN in shown("inspect", "forged.json")


def test_tensors_of_archives_are_shown_as_they_are_called(here, shown, refuse):
    save_file({NASTY: np.ones(9, np.float32)}, here / "m.safetensors")
    shown("compress", "m.safetensors")
    text = shown("inspect", "m.pz.safetensors")
    assert f"Bit planes of {SHOWN}" in text
    assert text.isprintable()
    assert refuse("inspect", "m.pz.safetensors", "--tensor", "\x1b[2J").strip().isprintable()


@pytest.mark.parametrize("name", [BYTES, "a\x1b]0;b\x07.npy", "[b]:smile:.npy"])
def test_files_of_any_name_are_converted_and_told(here, name):
    """In a process whose stdout takes UTF-8 alone, as that of a terminal does."""
    np.save(here / "a.npy", np.ones(9))
    os.rename("a.npy", name)

    def run(*arguments: str) -> str:
        code = "from planezip.cli.entry import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, check=True
        )
        assert not done.stderr
        return done.stdout.decode()

    assert run("compress", name).startswith(printable(f"{name}.pz: "))
    assert printable(f"{name}.pz") in run("inspect", f"{name}.pz")
    told = json.loads(run("compress", "--json", "-o", "x.pz", name))
    assert os.fsencode(told["source"]) == os.fsencode(name)
    assert json.loads(run("inspect", "--json", f"{name}.pz"))["file"] == f"{name}.pz"


def test_a_file_that_is_not_there_is_named_without_obeying_its_name(refuse):
    assert "a\\x1b[2J" in refuse("inspect", "a\x1b[2J")


def test_an_encoding_that_lacks_characters_gets_escapes(here, succeed):
    np.save(here / "a.npy", np.ones(9))
    succeed("compress", "a.npy")
    code = "from planezip.cli.entry import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", "a.npy.pz"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=True,
    )
    assert b"\\u2588" in done.stdout


def test_numbers_that_json_lacks_are_null(capsys):
    from planezip.cli.output import print_json

    print_json({"loss": [float("nan"), 1.5], 3: "é"})
    assert json.loads(capsys.readouterr().out) == {"loss": [None, 1.5], "3": "é"}

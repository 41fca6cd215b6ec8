"""Inputs that another thread changes meanwhile do no harm."""

import subprocess
import sys
from pathlib import Path

from planezip import _native

PROGRAM = Path(__file__).with_name("changing.py")


def test_nothing_outside_the_output_is_written_while_inputs_change():
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [
        word for level in _native.levels().split(", ") for word in ("passed", level)
    ]

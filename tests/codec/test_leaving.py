"""The interpreter may end, and the process fork, while threads are in the engine."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("leaving.py")


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_daemon_threads_in_the_engine_let_the_interpreter_end():
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "passed\n", "")

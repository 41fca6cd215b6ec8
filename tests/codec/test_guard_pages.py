"""Nothing outside the caller's memory is read or written, whatever the bytes."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("guarded.py")


@pytest.mark.skipif(sys.platform != "linux", reason="protects pages by mprotect")
def test_streams_and_contents_between_pages_that_cannot_be_touched():
    path = str(PROGRAM.parents[1])
    done = subprocess.run(
        [sys.executable, PROGRAM],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "passed portable" in done.stdout

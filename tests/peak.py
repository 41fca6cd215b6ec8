"""Peak memory of a command, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PEAK = """
def peak_bytes():
    line = next(l for l in open("/proc/self/status") if l.startswith("VmHWM:"))
    return 1024 * int(line.split()[1])
"""

_CALL = f"""
import sys
from planezip.cli.main import main
{PEAK}
try:
    main(sys.argv[1:])
finally:
    print(peak_bytes(), file=sys.stderr)
"""


def peak_bytes(folder: Path, *arguments: object) -> int:
    """Largest resident memory while `planezip ARGUMENTS` runs, its libraries included."""
    if not Path("/proc/self/status").exists():
        pytest.skip("only Linux tells how much memory was in use")
    done = subprocess.run(
        [sys.executable, "-c", _CALL, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stderr.rstrip().rpartition("\n")[2])

"""Paths that the system refuses are one line that names them, wherever they are given."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from planezip.cli.failures import exit_code

LONG = "n" * 254  # with a suffix behind it, no name of a file

COMMANDS = [
    "compress {} -o new.pz",
    "compress {}",
    "compress a.npy -o {}",
    "decompress {} -o new",
    "decompress {}.pz",
    "decompress a.npy.pz -o {}",
    "inspect {}",
    "plan ./{} --budget 50%",
    "plan trace.json.gz --budget 50% --capture {}",
    "plan trace.json.gz --budget 90% -o {}",
    "simulate trace.json.gz {}",
    "simulate trace.json.gz plan.json --perfetto {}",
    "report trace.json.gz --platform B --budget 90 -o {}",
]


@pytest.fixture
def there(here, succeed):
    """A folder that holds one file of each kind."""
    np.save("a.npy", np.ones(9))
    succeed("compress", "a.npy")
    succeed("plan", "trace.json.gz", "--budget", "90%", "-o", "plan.json")
    return here


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("path", "why"),
    [
        (f"{LONG}abc", "File name too long"),
        ("loop", "Too many levels of symbolic links"),
        ("a.npy/b", "Not a directory"),
    ],
)
def test_impossible_paths_are_named(there, refuse, command, path, why):
    (there / "loop").symlink_to("loop")
    before = left(there)
    line = refuse(*(word.replace("{}", path) for word in command.split()))
    assert path in line
    if path != "loop" or not command.startswith(("decompress {}.pz", "report")):
        assert why in line  # loop.pz is not there, and where a loop is, no folder can be made
    assert left(there) == before


def left(folder: Path) -> set[str]:
    return set(os.listdir(folder)) - {"cache"}


def test_a_name_that_becomes_too_long_is_to_be_chosen(there, refuse):
    (there / LONG).write_bytes(b"x")
    line = refuse("compress", LONG)
    assert f"cannot write {LONG}.pz: File name too long" in line
    assert "-o" in line


FORBIDDEN = """
import sys
from click.testing import CliRunner
from planezip.cli.main import main
for command in sys.argv[1:]:
    result = CliRunner().invoke(main, command.split())
    print(result.exit_code, result.stderr or repr(result.exception), end="")
"""


def obey_permissions() -> None:
    """Root, too, unlearns to pass over them in the program that is started next."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_folders_that_may_not_be_searched_are_named(there):
    (there / "locked").mkdir()
    (there / "locked" / "x.pz").write_bytes(b"")
    (there / "locked").chmod(0o600)
    commands = [command.replace("{}", "locked/x") for command in COMMANDS]
    done = subprocess.run(
        [sys.executable, "-c", FORBIDDEN, *commands],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=obey_permissions,
    )
    (there / "locked").chmod(0o700)
    lines = done.stdout.splitlines()
    assert len(lines) == len(commands), done.stderr
    for line in lines:
        assert line.startswith("2 planezip: cannot ")
        assert "locked/x" in line
        assert "Permission denied" in line


def test_any_path_that_the_system_refuses_is_one_line(capsys, tmp_path):
    def remove() -> None:
        os.rename(tmp_path / "none", tmp_path / "new")

    assert exit_code(remove) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"planezip: cannot use {tmp_path}/none: No such file")
    assert line.count("\n") == 1


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="Linux has such files")
@pytest.mark.parametrize("command", ["compress {} -o new.pz", "inspect {}"])
def test_a_file_that_opens_but_does_not_read_is_named(here, refuse, command):
    line = refuse(*command.format("/proc/self/mem").split())
    assert line == "planezip: cannot read /proc/self/mem: Input/output error\n"

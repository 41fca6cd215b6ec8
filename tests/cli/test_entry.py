"""The program guards itself from its first line: signals, streams that are closed or full."""

import os
import signal
import subprocess
import sys

import pytest

PROGRAM = "from planezip.cli.entry import main\nmain()"


def bash(script: str, **options) -> subprocess.CompletedProcess:
    """Run a line of the shell in which $PZ is the program."""
    return subprocess.run(
        ["bash", "-c", f"PZ() {{ exec {sys.executable} -c '{PROGRAM}' \"$@\"; }}; {script}"],
        check=False,
        capture_output=True,
        text=True,
        **options,
    )


@pytest.mark.parametrize("arguments", ["--help", "inspect trace.json.gz"])
@pytest.mark.parametrize(
    ("redirection", "said"),
    [(">&-", "stdout is closed"), (">/dev/full", "No space left on device")],
)
def test_output_that_cannot_be_written_is_one_line(here, arguments, redirection, said):
    done = bash(f"PZ {arguments} {redirection}", cwd=here)
    assert done.returncode == 2
    assert done.stderr == f"planezip: cannot write the output: {said}\n"


@pytest.mark.parametrize("redirection", ["2>&-", "<&-", "2>&- <&-"])
def test_without_stdin_or_stderr_results_are_printed(here, redirection):
    arguments = "report trace.json.gz --platform B --budget 90 -o out"
    done = bash(f"PZ {arguments} {redirection}", cwd=here)
    assert done.returncode == 0
    assert "out/report.html" in done.stdout


def test_failures_that_cannot_be_told_have_their_code(here):
    assert bash("PZ inspect nowhere 2>/dev/full", cwd=here).returncode == 2


def test_ctrl_c_during_imports_is_one_line():
    code = (
        "import os, signal, sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'planezip.cli.main':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupted())\n" + PROGRAM
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "planezip: interrupted\n")


def test_the_end_by_sigterm_leaves_nothing_partial(tmp_path):
    code = (
        "import os, signal\n"
        "os.fsync = lambda number: os.kill(os.getpid(), signal.SIGTERM)\n" + PROGRAM
    )
    (tmp_path / "data").write_bytes(bytes(100))
    done = subprocess.run(
        [sys.executable, "-c", code, "compress", str(tmp_path / "data")],
        check=False,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, b"")
    assert os.listdir(tmp_path) == ["data"]

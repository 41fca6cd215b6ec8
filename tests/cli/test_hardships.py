"""Conversions are killed and interrupted, sources shrink, memory is little and the disk full."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks and sets limits as on Linux")


def program(name: str, *arguments: object) -> str:
    """Run a program that lies beside this file, and return what it printed."""
    command = [sys.executable, Path(__file__).with_name(name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_conversions_that_are_killed_leave_the_old_file_or_the_new_one(tmp_path):
    assert len(program("killed.py", tmp_path).splitlines()) == 8


def test_sources_that_shrink_are_named_in_one_line(tmp_path):
    assert len(program("shrinking.py", tmp_path).splitlines()) == 4


def test_files_larger_than_the_memory_allowed_are_converted(tmp_path):
    assert program("frugal.py", tmp_path, 40, 1, 12) == "passed\n"


@pytest.mark.slow
def test_large_files_are_converted_in_a_fraction_of_their_size(tmp_path):
    """Nothing is made smaller for the test: slices are those of every run."""
    assert program("frugal.py", tmp_path, 640, 64, 320) == "passed\n"


ONE_MB = np.random.default_rng(0).integers(0, 256, 1_000_000, dtype=np.uint8)
SUFFIXES = [".bin", ".npy", ".npz", ".safetensors"]


@pytest.fixture(params=SUFFIXES)
def pair(request, here, succeed) -> tuple[str, str]:
    """A file of 1 MB that does not compress, and its archive or stream."""
    suffix = request.param
    name, packed = f"data{suffix}", "data.bin.pz" if suffix == ".bin" else f"data.pz{suffix}"
    if suffix == ".npz":
        np.savez(name, x=ONE_MB)
    elif suffix == ".safetensors":
        save_file({"x": ONE_MB}, name)
    else:
        (here / name).write_bytes(ONE_MB.tobytes()) if suffix == ".bin" else np.save(name, ONE_MB)
    succeed("compress", name, "-o", packed)
    return name, packed


def run(*arguments: str, before: str = "", **options) -> subprocess.CompletedProcess:
    """The command line as a process of its own, after some Python."""
    code = f"{before}\nfrom planezip.cli.entry import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=False,
        capture_output=True,
        text=True,
        **options,
    )


@pytest.mark.parametrize("limit_bytes", [0, 100_000, 990_000])
def test_a_disk_that_is_full_is_one_line_and_leaves_nothing(pair, here, limit_bytes):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    name, packed = pair
    before = sorted(os.listdir(here))
    for arguments, target in (
        (("compress", name), f"new{Path(packed).suffix}"),
        (("decompress", packed), f"new{Path(name).suffix}"),
    ):
        done = run(*arguments, "-o", target, cwd=here, preexec_fn=limit)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"planezip: cannot write {target}: File too large\n"
    assert sorted(os.listdir(here)) == before


STUCK = """
import os, signal, sys, threading
def stuck(*arguments, **options):
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.{signal})).start()
    threading.Event().wait()
import {module}
{module}.{function} = stuck
"""


@pytest.mark.parametrize("function", ["safetensors.serialize_file", "os.fsync"])
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interruption_is_answered_while_another_library_or_the_disk_works(
    here, function, name, code
):
    """The call would never return: only who abandons it comes to an end."""
    save_file({"x": ONE_MB}, here / "data.safetensors")
    before = sorted(os.listdir(here))
    module, _, called = function.rpartition(".")
    start = STUCK.format(signal=name, module=module, function=called)
    done = run("compress", "data.safetensors", before=start, cwd=here, timeout=60)
    assert done.returncode == code
    assert done.stderr == ("planezip: interrupted\n" if name == "SIGINT" else "")
    assert sorted(os.listdir(here)) == before


def test_what_a_killed_conversion_left_is_gone_after_the_next(pair, here, succeed):
    name, _ = pair
    kill = "import os, signal\nos.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)"
    before = set(os.listdir(here))
    done = run("compress", name, "-o", "new.pz", before=kill, cwd=here)
    assert done.returncode == -signal.SIGKILL
    (left,) = set(os.listdir(here)) - before
    assert left.startswith(".planezip-")
    succeed("compress", name, "-o", "new.pz")
    assert set(os.listdir(here)) == before | {"new.pz"}


@pytest.mark.parametrize("origin", [0o600, 0o640, 0o644])
def test_nothing_is_more_readable_than_its_source(pair, here, succeed, origin):
    name, packed = pair
    for source, target in ((name, "new.pz"), (name, packed), (packed, "back")):
        command = "decompress" if target == "back" else "compress"
        (here / source).chmod(origin)
        (here / target).unlink(missing_ok=True)
        succeed(command, source, "-o", target)
        assert (here / target).stat().st_mode & 0o777 == origin

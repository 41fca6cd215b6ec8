"""What comes out of a pipe can be read once: that is enough for every kind of file."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from safetensors.numpy import save_file

import planezip as library

KINDS = ["a.pz", "a.plzs", "a.pz.npy", "a.pz.npz", "a.pz.safetensors", "trace.json.gz"]


@pytest.fixture(params=KINDS)
def name(request, here, succeed) -> str:
    """The name of a file of each kind."""
    array = np.arange(3000, dtype=np.float32)
    np.save("a.npy", array)
    np.savez("a.npz", x=array)
    save_file({"x": array}, "a.safetensors")
    if request.param == "a.plzs":
        with library.SequenceWriter("a.plzs") as writer:
            writer.append(array)
            writer.append(array)
    elif request.param.startswith("a"):
        suffix = request.param.removeprefix("a.pz") or ".npy"
        succeed("compress", f"a{suffix}", "-o", request.param)
    return request.param


def run(here, *arguments: str, **options) -> bytes:
    """What a process of its own prints; who waits for more than there is fails in a minute."""
    code = "from planezip.cli.entry import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=here,
        capture_output=True,
        timeout=60,
        check=False,
        **options,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def test_a_pipe_with_a_name_is_inspected(here, name):
    pipe = here / f"pipe{os.path.splitext(name)[1]}"
    os.mkfifo(pipe)
    content = (here / name).read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=[content], daemon=True)
    writer.start()
    of_pipe = run(here, "inspect", pipe.name, "--json")
    assert of_pipe.replace(pipe.name.encode(), name.encode()) == run(
        here, "inspect", name, "--json"
    )


def test_stdin_is_inspected_under_any_name(here, name):
    link = here / f"stdin{os.path.splitext(name)[1]}"
    link.symlink_to("/dev/stdin")
    content = (here / name).read_bytes()
    told = run(here, "inspect", link.name, "--json", input=content)
    assert b'"kind"' in told

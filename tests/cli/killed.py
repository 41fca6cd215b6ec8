"""Run as a program, killed.py FOLDER: kills conversions at every fifth line that they execute.

The target is there before. Whenever a conversion dies, the target must be whole: old or new.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

import planezip.codec
from planezip.cli.files import convert
from planezip.codec.archives import STREAM, archive_of
from planezip.codec.archives.settings import Settings

OLD = b"what was there before"
WATCHED = str(Path(planezip.__file__).parent)


def work(verb: str, source: Path, target: Path) -> None:
    kind = archive_of(target if verb == "compress" else source) or STREAM
    convert(verb, getattr(kind, verb), source, target, Settings(threads=1), force=True)


def dies_at_line(number: int, verb: str, source: Path, target: Path) -> bool:
    """True if the conversion was killed; False if it was over before."""
    child = os.fork()
    if child == 0:
        passed = 0

        def trace(frame, event, _):
            nonlocal passed
            if event == "line" and frame.f_code.co_filename.startswith(WATCHED):
                passed += 1
                if passed == number:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        work(verb, source, target)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def dies_after(seconds: float, verb: str, source: Path, target: Path) -> bool:
    child = os.fork()
    if child == 0:
        work(verb, source, target)
        os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def whole(target: Path, new: bytes) -> bool:
    found = target.read_bytes()
    assert found in (OLD, new), f"{target} is torn: {len(found)} bytes"
    return found == new


def check(verb: str, source: Path, target: Path) -> None:
    work(verb, source, target)
    new = target.read_bytes()
    killed = {"old": 0, "new": 0}
    number = 1
    while True:
        target.write_bytes(OLD)
        if not dies_at_line(number, verb, source, target):
            break
        killed["new" if whole(target, new) else "old"] += 1
        assert len(list(source.parent.glob(".*"))) <= 1, "more than one hidden folder is left"
        number += 5
    assert target.read_bytes() == new
    assert killed["old"] > 20, killed
    for step in range(12):
        target.write_bytes(OLD)
        dies_after(0.001 * step, verb, source, target)
        whole(target, new)
    work(verb, source, target)
    assert not list(source.parent.glob(".*"))
    print(verb, source.name, killed)


folder = Path(sys.argv[1])
values = np.arange(500_000, dtype=np.float32) % 99
save_file({"x": values, "y": values[:7]}, folder / "a.safetensors")
np.savez(folder / "a.npz", x=values[:40_000])
np.save(folder / "a.npy", values[:40_000])
for name in ("a.pz.safetensors", "a.pz.npz", "a.pz.npy", "a.npy.pz"):
    original = "a.npy" if name == "a.npy.pz" else name.replace(".pz", "")
    check("compress", folder / original, folder / name)
    check("decompress", folder / name, folder / f"back{Path(original).suffix}")

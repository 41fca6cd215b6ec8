"""A file takes another's place whole, on disk, and no more readable than what it was made of."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from planezip import InputError
from planezip.codec import durable
from planezip.codec.durable import replacing


def write(path: Path, content: bytes = b"new", source: Path | None = None) -> None:
    with replacing(path, source) as temporary:
        temporary.write_bytes(content)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_file_is_on_disk_before_it_is_renamed_and_the_folder_after(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace

    def spy_fsync(descriptor: int) -> None:
        calls.append(("fsync", os.stat(descriptor).st_ino))
        fsync(descriptor)

    def spy_replace(source: Path, target: Path) -> None:
        calls.append(("replace", os.stat(source).st_ino))
        assert Path(source).read_bytes() == b"new"
        replace(source, target)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(os, "replace", spy_replace)
    write(tmp_path / "x")
    number = (tmp_path / "x").stat().st_ino
    folder = tmp_path.stat().st_ino
    assert calls == [("fsync", number), ("replace", number), ("fsync", folder)]


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_disk_that_fails_leaves_the_old_file(tmp_path, monkeypatch, fails):
    (tmp_path / "x").write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, fails, fail)
    with pytest.raises(InputError, match=r"cannot write .*x: Input/output error"):
        write(tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize(
    ("origin", "old", "expected"),
    [
        (0o600, None, 0o600),
        (0o644, None, 0o640),
        (0o444, None, 0o440),
        (0o755, None, 0o640),
        (0o600, 0o644, 0o600),
        (0o644, 0o600, 0o600),
        (0o666, 0o666, 0o666),
        (None, None, 0o640),
        (None, 0o604, 0o604),
    ],
)
def test_permissions_are_the_usual_ones_that_the_source_grants(tmp_path, origin, old, expected):
    if origin is not None:
        (tmp_path / "source").touch()
        (tmp_path / "source").chmod(origin)
    if old is not None:
        (tmp_path / "x").touch()
        (tmp_path / "x").chmod(old)
    before = os.umask(0o027)
    try:
        write(tmp_path / "x", source=tmp_path / "source" if origin is not None else None)
    finally:
        os.umask(before)
    assert mode(tmp_path / "x") == expected


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files to other groups")
def test_another_group_reads_only_what_everybody_may(tmp_path):
    (tmp_path / "source").touch()
    os.chown(tmp_path / "source", -1, os.getgid() + 1)
    for origin, expected in ((0o640, 0o600), (0o644, 0o644), (0o660, 0o600)):
        (tmp_path / "source").chmod(origin)
        (tmp_path / "x").unlink(missing_ok=True)
        write(tmp_path / "x", source=tmp_path / "source")
        assert mode(tmp_path / "x") == expected


def test_nobody_else_can_read_what_is_not_finished(tmp_path):
    with replacing(tmp_path / "x") as temporary:
        (hidden,) = tmp_path.iterdir()
        assert temporary.parent == hidden
        assert hidden.name.startswith(".planezip-")
        assert mode(hidden) == 0o700


KILLED = """
import os, signal, sys
from pathlib import Path
from planezip.codec.durable import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_bytes(b"half")
    (temporary.parent / "other").write_bytes(b"more")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_one(target: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, target], check=False)
    assert done.returncode == -9


def test_what_a_killed_process_left_is_one_folder_that_the_next_removes(tmp_path):
    kill_one(tmp_path / "x")
    (left,) = tmp_path.iterdir()
    write(tmp_path / "y")  # another's file is no business of this one
    assert left.is_dir()
    (tmp_path / ".planezip-note").write_bytes(b"mine")
    write(tmp_path / "x")
    assert sorted(os.listdir(tmp_path)) == [".planezip-note", "x", "y"]


def test_what_a_living_process_writes_is_left_alone(tmp_path):
    with replacing(tmp_path / "x") as one:
        with replacing(tmp_path / "x") as other:
            one.write_bytes(b"one")
            other.write_bytes(b"other")
        assert (tmp_path / "x").read_bytes() == b"other"
    assert (tmp_path / "x").read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["x"]


def test_a_folder_that_another_process_took_for_stale_is_made_anew(tmp_path, monkeypatch):
    lock, taken = durable._lock, []

    def lose_the_first(descriptor: int) -> bool | None:
        if taken:
            return lock(descriptor)
        taken.extend(tmp_path.iterdir())
        taken[0].rmdir()
        return lock(descriptor)

    monkeypatch.setattr(durable, "_lock", lose_the_first)
    write(tmp_path / "x")
    assert len(taken) == 1
    assert os.listdir(tmp_path) == ["x"]


def test_a_file_system_without_locks_keeps_what_may_be_in_use(tmp_path, monkeypatch):
    kill_one(tmp_path / "x")
    monkeypatch.setattr(durable, "_lock", lambda descriptor: None)
    write(tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"new"
    assert len(os.listdir(tmp_path)) == 2

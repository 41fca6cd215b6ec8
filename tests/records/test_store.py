"""Files of records are validated when read, whole or absent when written."""

import gzip
import io
import os
import subprocess
import sys

import pytest

from planezip.errors import InputError
from planezip.records import (
    Trace,
    from_json,
    load,
    read_json,
    save,
    store,
    to_json,
    write_atomically,
)


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_record_survives_its_file(tmp_path, trace, name):
    save(tmp_path / name, trace)
    assert load(tmp_path / name, Trace) == trace


def test_the_same_record_gives_the_same_bytes(tmp_path, trace):
    for name in ("a.json.gz", "b.json.gz"):
        save(tmp_path / name, trace)
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: b"[]",
        lambda data: data.replace(b'"batch":4', b'"batch":"four"'),
        lambda data: data.replace(b'"forward"', b'"sideways"', 1),
        lambda data: b"\xff\xfe" + data,
    ],
)
@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_damaged_file_is_refused_by_name(tmp_path, trace, damage, name):
    path = tmp_path / name
    path.write_bytes(damage(to_json(trace)))
    with pytest.raises(InputError, match=name) as caught:
        load(path, Trace)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-20],
        lambda data: data[:40] + bytes(20),
        lambda data: data[:10] + b"\xff" * 20,
        lambda data: data[:2] + b"\xff" + data[3:],
        lambda data: data + b"behind the end",
    ],
)
def test_a_damaged_gzip_is_refused(tmp_path, trace, damage):
    path = tmp_path / "trace.json.gz"
    save(path, trace)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match="damaged gzip"):
        load(path, Trace)


def test_every_bit_of_a_gzip_may_flip(tmp_path, trace):
    """The record is read, since some bits say nothing, or the file is refused by its name."""
    path = tmp_path / "trace.json.gz"
    save(path, trace)
    content = path.read_bytes()
    refusals = []
    for at in range(0, 8 * len(content), 7):
        flipped = bytearray(content)
        flipped[at // 8] ^= 1 << at % 8
        path.write_bytes(flipped)
        try:
            assert load(path, Trace) == trace
        except InputError as error:
            refusals.append(str(error))
    assert len(refusals) > len(content)
    assert all(str(path) in line and "\n" not in line for line in refusals)


def test_what_is_larger_than_any_record_is_refused_by_name(tmp_path, trace, monkeypatch):
    size = len(to_json(trace))
    for name in ("trace.json", "trace.json.gz"):
        monkeypatch.setattr(store, "MOST_RECORD_BYTES", size)
        save(tmp_path / name, trace)
        assert load(tmp_path / name, Trace) == trace
        monkeypatch.setattr(store, "MOST_RECORD_BYTES", size - 1)
        with pytest.raises(InputError, match=f"{name} is larger than any trace"):
            load(tmp_path / name, Trace)
        with pytest.raises(InputError, match=f"{name} is larger than any trace"):
            save(tmp_path / name, trace)


def test_no_more_is_read_and_unpacked_than_the_largest_record_has(monkeypatch):
    """A file of two megabytes that becomes gigabytes takes the memory of the bound alone."""

    class Counted(gzip.GzipFile):
        def read(self, size=-1):
            asked.append(size)
            return super().read(size)

    asked: list[int] = []
    monkeypatch.setattr(gzip, "GzipFile", Counted)
    monkeypatch.setattr(store, "MOST_RECORD_BYTES", 1000)
    bomb = io.BytesIO(gzip.compress(bytes(1 << 20)) * 2)
    with pytest.raises(InputError, match="larger than any"):
        read_json(bomb, "bomb")
    assert asked == [1001]
    endless = io.BytesIO(bytes(1 << 20))
    with pytest.raises(InputError, match="larger than any"):
        read_json(endless, "endless")
    assert endless.tell() == 1001


def test_a_missing_file_and_a_folder_are_refused_by_name(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        load(tmp_path / "nowhere.json", Trace)
    with pytest.raises(InputError, match="directory"):
        load(tmp_path, Trace)


def test_a_write_that_fails_leaves_the_old_file_whole_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    write_atomically(path, b"old")

    def refuse(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(InputError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["record.json"]


def test_an_interrupted_write_leaves_the_old_file_whole_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    write_atomically(path, b"old")

    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["record.json"]


def test_a_folder_in_the_way_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="cannot write"):
        write_atomically(tmp_path / "file" / "record.json", b"new")


def test_new_files_have_ordinary_permissions(tmp_path):
    path = tmp_path / "record.json"
    write_atomically(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_from_json_names_the_file_and_the_field():
    with pytest.raises(InputError, match=r"x\.json.*ops|x\.json.*model"):
        from_json(b"{}", Trace, "x.json")


def test_a_pipe_in_the_place_of_a_record_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "trace.json.gz")
    (tmp_path / "link").symlink_to("trace.json.gz")
    for name in ("trace.json.gz", "link"):
        with pytest.raises(InputError, match=f"cannot read .*{name}: it is no regular file"):
            load(tmp_path / name, Trace)


def test_what_is_piped_in_is_read(tmp_path, trace):
    """Under the name that a shell gives it, too, as for <(command)."""
    code = "import sys\nfrom planezip.records import Trace, load\nload(sys.argv[1], Trace)"
    (tmp_path / "link").symlink_to("/dev/stdin")
    for name in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", tmp_path / "link"):
        program = [sys.executable, "-c", code, name]
        subprocess.run(program, input=to_json(trace), check=True)

"""Sources are read when they are needed; one that shrinks or is a pipe is no reason to die."""

import io
import os
import random
import tempfile
import threading

import numpy as np
import pytest

from planezip import InputError
from planezip.codec import engine
from planezip.codec.archives.reader import as_file
from planezip.codec.archives.region import opened


@pytest.fixture
def content(tmp_path):
    data = np.random.default_rng(0).bytes(10_000)
    (tmp_path / "x").write_bytes(data)
    return data


def test_parts_of_parts_are_those_of_the_bytes(tmp_path, content):
    with opened(tmp_path / "x") as file:
        for begin, end in ((0, 10_000), (17, 9_000), (5, 5), (9_999, 20_000), (8, 3), (-50, None)):
            part = file[begin:end]
            assert part.tobytes() == content[begin:end]
            assert part[3:-1].tobytes() == content[begin:end][3:-1]
            assert part.mapped().tobytes() == content[begin:end]
            assert part.nbytes == len(content[begin:end])


def test_slices_are_the_bytes_in_order(tmp_path, content, monkeypatch):
    monkeypatch.setattr(engine, "SLICE_BYTES", 4096)
    with opened(tmp_path / "x") as file:
        parts = [part.tobytes() for part in file[100:].slices()]
    assert [len(part) for part in parts] == [4096, 4096, 10_000 - 100 - 8192]
    assert b"".join(parts) == content[100:]


def test_a_file_that_shrinks_is_an_error_that_names_it(tmp_path, content):
    with opened(tmp_path / "x") as file:
        os.truncate(tmp_path / "x", 5_000)
        assert file[:5_000].tobytes() == content[:5_000]
        with pytest.raises(InputError, match=r"x: it has become shorter"):
            file.tobytes()
        os.truncate(tmp_path / "x", 0)
        with pytest.raises(InputError, match=r"x: it has become shorter"):
            file.mapped()
        with pytest.raises(InputError, match=r"x: it has become shorter"):
            as_file(file).read()


def test_a_region_is_read_as_a_file(tmp_path, content):
    at_random = random.Random(0)
    with opened(tmp_path / "x") as whole, as_file(whole[100:9_000]) as file:
        expected = io.BytesIO(content[100:9_000])
        for _ in range(300):
            to = at_random.randrange(10_000), os.SEEK_SET
            if at_random.random() < 0.3:
                to = -at_random.randrange(8_900), os.SEEK_END
            assert file.seek(*to) == expected.seek(*to)
            size = at_random.choice([-1, 0, 1, 7, 5_000])
            assert file.read(size) == expected.read(size)
            assert file.tell() == expected.tell()
        with pytest.raises(ValueError, match="no byte -1"):
            file.seek(-8_901, os.SEEK_END)


def test_a_pipe_is_read_to_its_end(tmp_path, content):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[content])
    writer.start()
    with opened(tmp_path / "pipe") as file:
        assert file.tobytes() == content
    writer.join()


def test_what_cannot_be_read_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match=f"cannot read {path}: "), opened(path):
            pass


def failing(*_arguments, **_options):
    raise OSError(28, "No space left on device")


def test_a_pipe_that_finds_no_room_is_named(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(b"")
    monkeypatch.setattr(tempfile, "TemporaryFile", failing)
    said = r"cannot keep what .*x gives.*No space left"
    with pytest.raises(InputError, match=said), opened(tmp_path / "x"):
        pass


def test_what_fails_to_be_mapped_is_named(tmp_path, content, monkeypatch):
    monkeypatch.setattr("mmap.mmap", failing)
    with (
        opened(tmp_path / "x") as file,
        pytest.raises(InputError, match=r"cannot read .*x: No space"),
    ):
        file.mapped()

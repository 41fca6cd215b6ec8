"""Sources are read when they are needed; one that shrinks or is a pipe is no reason to die."""

import os
import threading

import numpy as np
import pytest

from planezip import InputError
from planezip.codec import engine
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

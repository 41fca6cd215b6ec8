"""compress and decompress write where they are told: through links, never over what is no file."""

import gzip
import os
import stat
import threading

import pytest

from planezip.records import store


@pytest.fixture
def data(here):
    (here / "data").write_bytes(bytes(1000))
    return here


def test_a_link_leads_to_the_file_that_is_replaced(data, succeed):
    (data / "target.pz").write_bytes(b"old")
    (data / "link.pz").symlink_to("target.pz")
    succeed("compress", "data", "-o", "link.pz", "--force")
    assert (data / "link.pz").is_symlink()
    assert (data / "target.pz").read_bytes() != b"old"


def test_a_link_to_nowhere_names_the_file_to_write(data, succeed):
    (data / "link.pz").symlink_to("new.pz")
    succeed("compress", "data", "-o", "link.pz")
    assert (data / "link.pz").is_symlink()
    assert (data / "new.pz").is_file()


def test_what_is_no_regular_file_stays_what_it_is(data, refuse):
    os.mkfifo(data / "pipe")
    for force in ([], ["--force"]):
        assert "regular file" in refuse("compress", "data", "-o", "pipe", *force)
    assert stat.S_ISFIFO((data / "pipe").stat().st_mode)


def test_permissions_of_a_replaced_file_stay(data, succeed):
    (data / "private.pz").write_bytes(b"old")
    (data / "private.pz").chmod(0o600)
    succeed("compress", "data", "-o", "private.pz", "--force")
    assert (data / "private.pz").stat().st_mode & 0o777 == 0o600


def test_names_as_long_as_the_file_system_takes_can_be_written(data, succeed):
    succeed("compress", "data", "-o", "n" * 252 + ".pz")


@pytest.mark.parametrize("command", ["compress", "decompress"])
@pytest.mark.parametrize("name", [".", "", "/"])
def test_a_folder_is_no_file(data, refuse, command, name):
    assert "folder" in refuse(command, name)


def test_json_nested_without_end_is_no_record(data, refuse):
    (data / "deep.json").write_bytes(b'{"ops":' + b"[" * 100_000)
    assert "deep.json" in refuse("inspect", "deep.json")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b"", mtime=0)[:10] + b"\xff" * 20, "damaged gzip"),
        (gzip.compress(b"{}", mtime=0)[:-3], "damaged gzip"),
        (gzip.compress(b"{}", mtime=0), "is no PlaneZip stream"),
        (gzip.compress(bytes(1 << 20), mtime=0), "larger than any"),
        (bytes(1 << 20), "larger than any"),
    ],
)
def test_what_is_no_record_is_refused_in_bounded_memory(data, refuse, monkeypatch, content, said):
    monkeypatch.setattr(store, "MOST_RECORD_BYTES", 1 << 16)
    (data / "x.gz").write_bytes(content)
    line = refuse("inspect", "x.gz")
    assert "x.gz" in line
    assert said in line


def test_a_dash_is_no_file_and_says_what_is(data, refuse):
    assert "/dev/stdin" in refuse("compress", "-", "-o", "x.pz")
    assert "name a file" in refuse("compress", "data", "-o", "-")
    assert not (data / "-").exists()


def test_a_pipe_is_compressed_to_its_end(data, succeed):
    os.mkfifo(data / "pipe")
    writer = threading.Thread(target=(data / "pipe").write_bytes, args=[b"abc" * 1000])
    writer.start()
    assert "3,000 bytes became" in succeed("compress", "pipe", "-o", "x.pz")
    writer.join()
    succeed("decompress", "x.pz")
    assert (data / "x").read_bytes() == b"abc" * 1000


def test_a_line_says_whether_the_file_grew(data, succeed):
    assert "times smaller" in succeed("compress", "data")
    (data / "tiny").write_bytes(b"x")
    assert "times larger" in succeed("compress", "tiny")


def test_names_in_a_line_that_have_no_end_are_cut(data, refuse):
    line = refuse("compress", "data", "--codec", "x" * 100_000)
    assert len(line) < 11_000
    assert "unknown codec" in line
    assert "use one of" in line

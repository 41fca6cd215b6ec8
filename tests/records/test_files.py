"""Files are whole or absent, and stand where and how their user wants them."""

import os
import stat
import threading

import pytest

from planezip.errors import InputError
from planezip.records import write_atomically, write_together


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("deep/target")
    (tmp_path / "longer").symlink_to("link")
    write_atomically(tmp_path / "longer", b"new")
    assert (tmp_path / "deep" / "target").read_bytes() == b"new"
    assert (tmp_path / "longer").readlink().name == "link"
    assert names(tmp_path) == ["deep", "link", "longer"]


def test_a_link_to_nowhere_makes_what_it_names(tmp_path):
    (tmp_path / "link").symlink_to("target")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_a_link_in_a_circle_is_named(tmp_path):
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(InputError, match=r"cannot write .*link: Too many levels"):
        write_atomically(tmp_path / "link", b"new")


def test_content_may_be_written_piece_by_piece(tmp_path):
    def write(file):
        file.write(b"new and longer")
        file.seek(0)
        file.write(b"NEW")

    (tmp_path / "file").write_bytes(b"old")
    write_atomically(tmp_path / "file", write)
    assert (tmp_path / "file").read_bytes() == b"NEW and longer"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError])
def test_content_that_fails_half_way_replaces_nothing(tmp_path, failure):
    def write(file):
        file.write(b"half")
        raise failure

    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(failure):
        write_atomically(tmp_path / "file", write)
    assert (tmp_path / "file").read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_pipe_is_written_to_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_atomically(tmp_path / "pipe", b"new")
    reader.join()
    assert read == [b"new"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert names(tmp_path) == ["pipe"]


@pytest.mark.skipif(os.geteuid() == 0, reason="what could be harmed here is the machine's")
def test_devices_of_the_machine_are_written_to():
    write_atomically("/dev/null", b"new")


def test_a_device_is_written_to_and_stays(tmp_path):
    try:
        os.mknod(tmp_path / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        (tmp_path / "null").write_bytes(b"")
    except OSError:
        pytest.skip("making devices needs root")
    write_atomically(tmp_path / "null", b"new")
    assert stat.S_ISCHR((tmp_path / "null").stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_replaced_file_hands_on_its_permissions(tmp_path, mode):
    path = tmp_path / "record.json"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_protected_file_is_not_replaced(tmp_path):
    path = tmp_path / "record.json"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(InputError, match="Permission denied"):
        write_atomically(path, b"new")


def test_a_name_may_be_as_long_as_names_can_be(tmp_path):
    path = tmp_path / ("n" * os.pathconf(tmp_path, "PC_NAME_MAX"))
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"


def test_of_files_that_belong_together_none_appears_before_all_can(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "c").write_bytes(b"old")
    files = {tmp_path / "new" / "deep" / "a": b"1", tmp_path / "c": b"2", tmp_path / "b": b"3"}
    with pytest.raises(InputError, match=r"cannot write .*b: Is a directory"):
        write_together(files)
    assert names(tmp_path) == ["b", "c"]
    assert (tmp_path / "c").read_bytes() == b"old"

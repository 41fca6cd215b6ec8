"""One writer at a time, and readers beside it: nothing acknowledged is lost, nothing whole torn."""

import fcntl
import os
import signal
import subprocess
import sys
from errno import EACCES, EIO, ENOTSUP, EROFS

import numpy as np
import pytest

from planezip import CorruptStreamError, InputError, SequenceReader, SequenceWriter
from planezip.codec import sequence, sequence_file, sequence_records

BUSY = "another writer has it open"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "parts"


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def contents(path) -> list[object]:
    with SequenceReader(path) as reader:
        return list(reader)


def test_a_second_writer_is_refused_until_the_first_is_closed(path):
    with SequenceWriter(path) as first:
        first.append(b"one")
        for repair in (False, True):
            with pytest.raises(InputError, match=BUSY):
                SequenceWriter(path, repair=repair)
        first.append(b"two")
    with SequenceWriter(path) as second:
        second.append(b"three")
    assert contents(path) == [b"one", b"two", b"three"]


HOLD = """
import sys
from planezip import SequenceWriter
writer = SequenceWriter(sys.argv[1])
writer.append(b"theirs")
print("open", flush=True)
sys.stdin.read()
"""


def test_a_writer_of_another_process_is_refused_until_that_is_dead(path):
    with python(HOLD, path) as process:
        process.stdout.readline()
        with pytest.raises(InputError, match=BUSY):
            SequenceWriter(path, repair=True)
        process.kill()
        process.wait()
    with SequenceWriter(path) as writer:
        writer.append(b"ours")
    assert contents(path) == [b"theirs", b"ours"]


FORK = """
import os, signal, sys
from planezip import InputError, SequenceWriter
writer = SequenceWriter(sys.argv[1])
writer.append(b"parent's")
writer._lock.acquire()  # as by a thread that appends meanwhile
child = os.fork()
if child == 0:
    try:
        writer.append(b"child's")
    except InputError as error:
        print(error, flush=True)
    writer.close()
    sys.stdin.read()
    os._exit(0)
if sys.argv[2] == "kill":
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)
writer._lock.release()
writer.append(b"more")
sys.stdin.readline()
writer.close()
print("closed", flush=True)
os.waitpid(child, 0)
"""


@pytest.mark.parametrize("end", ["kill", "close"])
def test_a_forked_process_neither_writes_nor_keeps_others_from_writing(path, end):
    with python(FORK, path, end) as process:
        assert "another process opened it" in process.stdout.readline()
        with pytest.raises(InputError, match=BUSY):
            SequenceWriter(path)
        process.stdin.write("\n")
        process.stdin.flush()
        if end == "kill":
            assert process.wait() == -signal.SIGKILL
        else:
            assert process.stdout.readline() == "closed\n"
        with SequenceWriter(path) as writer:  # the child lives
            writer.append(b"ours")
    expected = [b"parent's", b"ours"] if end == "kill" else [b"parent's", b"more", b"ours"]
    assert contents(path) == expected


def test_a_reader_that_looks_does_not_keep_a_writer_out(path, monkeypatch):
    path.write_bytes(bytes(30))
    with open(path) as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)
        leave = lambda _: fcntl.flock(reader, fcntl.LOCK_UN)  # noqa: E731
        monkeypatch.setattr(sequence_file.time, "sleep", leave)
        SequenceWriter(path, repair=True).close()


def test_a_tail_is_torn_only_if_nobody_is_writing_it(path):
    with SequenceWriter(path) as writer:
        writer.append(b"one")
        whole = path.read_bytes()
        record = sequence_records.header(500) + bytes(500)
        for tail in (bytes(10), bytes(600), record[:23], record[:400]):
            path.write_bytes(whole + tail)
            assert contents(path) == [b"one"]
        path.write_bytes(whole + b"garbage" * 9)
        with pytest.raises(CorruptStreamError, match="damaged"):
            contents(path)
        path.write_bytes(whole + bytes(30))
    with pytest.raises(CorruptStreamError, match="torn"):
        contents(path)


def test_a_record_that_is_finished_while_a_reader_looks_is_not_torn(path, monkeypatch):
    with SequenceWriter(path) as writer:
        writer.append(b"one")
        before = path.read_bytes()
        writer.append(b"two")
    whole = path.read_bytes()
    path.write_bytes(before + bytes(50))
    scan = sequence_records.scan

    def finish(*arguments):
        found = scan(*arguments)
        path.write_bytes(whole)
        return found

    monkeypatch.setattr(sequence_records, "scan", finish)
    assert contents(path) == [b"one", b"two"]


WRITE = """
import sys, numpy as np
from planezip import SequenceWriter
with SequenceWriter(sys.argv[1]) as writer:
    print("open", flush=True)
    for number in range(200):
        writer.append(np.full(30_000, number), threads=1)
"""


def test_readers_beside_a_writer_of_another_process_find_whole_records_only(path):
    with python(WRITE, path) as process:
        process.stdout.readline()
        while process.poll() is None:
            firsts = [part[0] for part in contents(path)]
            assert firsts == list(range(len(firsts)))
    assert [part[0] for part in contents(path)] == list(range(200))


def test_a_file_system_without_locks_is_used_without(path, monkeypatch):
    def flock(*_):
        raise OSError(ENOTSUP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", flock)
    with SequenceWriter(path) as writer:
        writer.append(b"one")
        assert contents(path) == [b"one"]
    path.write_bytes(path.read_bytes() + bytes(30))
    with SequenceReader(path) as reader:
        assert "torn" in reader.fault


def refused(verb: str, why: str):
    return pytest.raises(InputError, match=f"^cannot {verb} [^\n]*: {why}[^\n]*$")


def test_a_file_that_is_none_is_refused_in_one_line(tmp_path):
    fifo, loop = tmp_path / "fifo", tmp_path / "loop"
    os.mkfifo(fifo)
    loop.symlink_to(loop)
    for kind, verb in ((SequenceReader, "read"), (SequenceWriter, "write")):
        for name in (fifo, "/dev/null"):
            with refused(verb, "only a regular file"):
                kind(name)
        for name, why in (
            (tmp_path, "Is a directory"),
            (loop, "Too many levels"),
            ("n" * 300, "File name too long"),
            ("a\0b", "embedded null"),
        ):
            with refused(verb, why):
                kind(name)
    code = "import planezip\ntry: planezip.SequenceReader('/dev/stdin')\n"
    code += "except planezip.InputError as error: print(error)"
    with python(code) as process:
        assert "/dev/stdin: only a regular file" in process.communicate("abc")[0]


def failing(error: int):
    def call(*_, **__):
        raise OSError(error, os.strerror(error))

    return call


def test_whatever_the_system_says_is_one_line(path, monkeypatch):
    with SequenceWriter(path) as writer:
        writer.append(b"one")
    for error in (EACCES, EROFS):
        with monkeypatch.context() as patch:
            patch.setattr(sequence_file.os, "open", failing(error))
            for kind, verb in ((SequenceReader, "read"), (SequenceWriter, "write")):
                with refused(verb, os.strerror(error)):
                    kind(path)
    with SequenceReader(path) as reader, monkeypatch.context() as patch:
        patch.setattr(sequence_file.os, "pread", failing(EIO))
        with refused("read", os.strerror(EIO)):
            reader[0]
        patch.setattr(sequence.mmap, "mmap", failing(EIO))
        with refused("read", os.strerror(EIO)):
            reader.view(0)
        with refused("read", os.strerror(EIO)):
            SequenceReader(path)
    writer = SequenceWriter(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing(EIO))
        for call in (writer.sync, writer.close):
            with refused("write", os.strerror(EIO)):
                call()
    SequenceWriter(path).close()  # it was unlocked all the same


def test_what_is_closed_is_refused_in_one_line(path):
    writer = SequenceWriter(path)
    writer.append(b"one")
    reader = SequenceReader(path)
    for each in (writer, reader, writer, reader):
        each.close()
    for verb, call in (
        ("write", lambda: writer.append(b"two")),
        ("write", writer.sync),
        ("read", lambda: reader[0]),
        ("read", lambda: reader.view(0)),
    ):
        with refused(verb, "it is closed"):
            call()


def test_a_file_cut_off_since_it_was_opened_is_damaged(path):
    with SequenceWriter(path) as writer:
        writer.append(b"one")
        writer.append(np.random.default_rng(0).bytes(9000))
    with SequenceReader(path) as reader:
        os.truncate(path, 300)
        for call in (reader.view, reader.__getitem__):
            with pytest.raises(CorruptStreamError):
                call(1)
        os.truncate(path, 0)
        with pytest.raises(CorruptStreamError, match="cut off"):
            reader.view(0)


FULL = """
import resource, sys, numpy as np
from planezip import InputError, SequenceWriter
noise = np.random.default_rng(0).bytes(200_000)
with SequenceWriter(sys.argv[1]) as writer:
    writer.append(b"one")
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    for data in (noise, b"two", noise):
        try:
            writer.append(data)
        except InputError as error:
            print(error)
"""


def test_what_finds_no_room_leaves_the_file_as_it_was(path):
    with python(FULL, path) as process:
        lines = process.communicate()[0].splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"cannot write {path}: ") for line in lines)
    assert contents(path) == [b"one", b"two"]

"""Sequences only grow; whatever happens to their end, what is before it stays readable."""

import subprocess
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import planezip
from planezip import CorruptStreamError, InputError, SequenceReader, SequenceWriter
from planezip.codec import sequence_file, sequence_records

PARTS = [b"abc" * 30, np.arange(40, dtype=">i2").reshape(5, 8), b"", np.float32(2.5)]


def raw(part: object) -> bytes:
    return part if isinstance(part, bytes) else np.asarray(part).tobytes()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "parts.plzs"
    with SequenceWriter(path) as writer:
        for part in PARTS:
            writer.append(part)
    return path


def ends(path) -> list[int]:
    """Where each record ends."""
    with SequenceReader(path) as reader:
        return [offset + size for offset, size in reader._streams]


def test_what_was_appended_comes_back_in_order(path):
    with SequenceReader(path) as reader:
        assert len(reader) == len(PARTS)
        assert reader.fault is None
        assert [raw(part) for part in reader] == [raw(part) for part in PARTS]
        assert reader[1].dtype == PARTS[1].dtype
        assert raw(reader[-1]) == raw(PARTS[-1])
        assert reader.stream(0) == planezip.compress(PARTS[0])
        assert reader.view(1).elements(7, 9).tolist() == [7, 8]
        with pytest.raises(IndexError):
            reader[len(PARTS)]


def test_32_threads_share_a_reader_and_each_gets_the_record_it_asked_for(tmp_path):
    """Threads are switched as often as can be: others would move a shared position."""
    with SequenceWriter(tmp_path / "parts") as writer:
        for number in range(32):
            writer.append(np.full(5000 + number, number, np.int64), threads=1)
    together = threading.Barrier(32)
    with SequenceReader(tmp_path / "parts") as reader:
        alone = [reader.stream(number) for number in range(32)]

        def read(number: int) -> bool:
            together.wait()
            return all(reader.stream(at % 32) == alone[at % 32] for at in range(number, 600, 7))

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            with ThreadPoolExecutor(32) as pool:
                assert all(pool.map(read, range(32)))
        finally:
            sys.setswitchinterval(before)
        assert [part[0] for part in reader] == list(range(32))


def test_threads_append_whole_records(tmp_path):
    """Switched as often as can be: records that threads write into one another would be torn."""
    together, path = threading.Barrier(8), tmp_path / "parts"
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with SequenceWriter(path) as writer, ThreadPoolExecutor(8) as pool:

            def append(number: int) -> int:
                together.wait()
                return sum(writer.append(np.full(2000, number + i), threads=1) for i in range(20))

            written = sum(pool.map(append, range(0, 800, 100)))
    finally:
        sys.setswitchinterval(before)
    assert path.stat().st_size == written
    with SequenceReader(path) as reader:
        firsts = [part[0] for part in reader]
    assert sorted(firsts) == [number + i for number in range(0, 800, 100) for i in range(20)]
    for number in range(0, 800, 100):  # each thread's in its order
        assert [at for at in firsts if at // 100 == number // 100] == list(
            range(number, number + 20)
        )


def test_parts_of_a_sequence_are_lists(path):
    with SequenceReader(path) as reader:
        for part in (slice(0, 2), slice(None, None, -1), slice(3, 99), slice(2, 2)):
            assert [raw(x) for x in reader[part]] == [raw(x) for x in PARTS[part]]


def test_a_view_of_a_record_reads_no_more_than_it_needs(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, 30_000_000, np.uint8)
    with SequenceWriter(tmp_path / "parts") as writer:
        writer.append(b"before")
        writer.append(noise)
        writer.append(b"behind")
    tracemalloc.start()
    try:
        with SequenceReader(tmp_path / "parts") as reader:
            view = reader.view(1, verify=False)
            checked = reader.view(-2)
        assert view.bytes(20_000_001, 20_100_000) == noise[20_000_001:20_100_000].tobytes()
        assert checked.elements(7, 9).tolist() == noise[7:9].tolist()  # the reader is closed
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_view_of_a_damaged_record_is_refused_if_it_is_to_be_verified(path):
    data = bytearray(path.read_bytes())
    data[ends(path)[0] - 1] ^= 1
    path.write_bytes(data)
    with SequenceReader(path) as reader:
        with pytest.raises(CorruptStreamError, match="checksum"):
            reader.view(0)
        assert reader.view(0, verify=False).byte_length == len(PARTS[0])


def test_a_stream_is_read_whole_however_little_the_system_gives_at_once(path, monkeypatch):
    monkeypatch.setattr(sequence_file, "_READ_BYTES", 7)
    with SequenceReader(path) as reader:
        assert [raw(part) for part in reader] == [raw(part) for part in PARTS]


def test_appending_later_leaves_what_is_there(path):
    before = path.read_bytes()
    with SequenceWriter(path) as writer:
        grown = writer.append(torch.arange(9).bfloat16(), codec="zbx", symbol_bits=32, threads=1)
    assert path.read_bytes()[: len(before)] == before
    assert path.stat().st_size == len(before) + grown
    with SequenceReader(path) as reader:
        assert torch.equal(reader[4], torch.arange(9).bfloat16())


def test_an_empty_file_is_a_sequence_of_nothing(tmp_path):
    with SequenceWriter(tmp_path / "none"):
        pass
    with SequenceReader(tmp_path / "none") as reader:
        assert list(reader) == []


def test_a_torn_tail_is_detected_at_every_length_and_what_is_before_it_read(path):
    whole = path.read_bytes()
    borders = [0, *ends(path)]
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        count = sum(end <= length for end in borders) - 1
        with SequenceReader(path) as reader:
            assert len(reader) == count
            assert [raw(reader[i]) for i in range(count)] == [raw(p) for p in PARTS[:count]]
            if length in borders:
                assert reader.fault is None
            else:
                with pytest.raises(CorruptStreamError, match=f"torn from byte {borders[count]} "):
                    list(reader)


def test_every_single_bit_flip_is_noticed_and_what_is_before_it_read(path):
    whole = path.read_bytes()
    borders = ends(path)
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        intact = sum(end <= bit // 8 for end in borders)
        read = []
        with SequenceReader(path) as reader, pytest.raises(CorruptStreamError):
            read.extend(map(raw, reader))
        assert read == [raw(part) for part in PARTS[:intact]]


def test_a_length_that_lies_asks_for_no_memory(path):
    with path.open("ab") as file:
        file.write(sequence_records.header(1 << 62))
    with SequenceReader(path) as reader:
        assert len(reader) == len(PARTS)
        assert "torn" in reader.fault


def test_a_torn_sequence_is_appended_to_only_after_repair(path):
    whole = path.read_bytes()
    for tail in (b"\0" * 10, b"\0" * 500, sequence_records.header(99) + b"x" * 98, b"garbage" * 9):
        path.write_bytes(whole + tail)
        with pytest.raises(InputError, match="repair=True"):
            SequenceWriter(path)
        assert path.read_bytes() == whole + tail
        with SequenceWriter(path, repair=True) as writer:
            writer.append(b"more")
        with SequenceReader(path) as reader:
            assert [raw(p) for p in reader] == [*(raw(p) for p in PARTS), b"more"]


def test_a_file_of_another_kind_is_never_cut(tmp_path):
    for content in (b"something else entirely, and precious", b"short", planezip.compress(b"abc")):
        (tmp_path / "other").write_bytes(content)
        for repair in (False, True):
            with pytest.raises(InputError, match="no sequence"):
                SequenceWriter(tmp_path / "other", repair=repair)
        assert (tmp_path / "other").read_bytes() == content


def test_appending_something_impossible_changes_nothing(path):
    before = path.read_bytes()
    with SequenceWriter(path) as writer:
        with pytest.raises(InputError):
            writer.append([1, 2])
        assert writer.append(b"fine") > 0
    with SequenceReader(path) as reader:
        assert reader[len(PARTS)] == b"fine"
    assert path.read_bytes().startswith(before)


def test_files_that_cannot_be_opened_are_named(tmp_path):
    for kind, verb in ((SequenceReader, "read"), (SequenceWriter, "write")):
        with pytest.raises(InputError, match=f"cannot {verb} .*folder"):
            kind(tmp_path / "folder" / "none")


KILLED = """
import sys, numpy as np
from planezip import SequenceWriter
part = np.arange(200_000) % 1000
with SequenceWriter(sys.argv[1]) as writer:
    while True:
        writer.append(part)
        print("appended", flush=True)
"""


@pytest.mark.parametrize("after_s", [0.0, 0.003, 0.01, 0.021])
def test_a_writer_that_is_killed_loses_nothing_that_it_appended(tmp_path, after_s):
    path = tmp_path / "killed"
    process = subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(after_s)
    process.kill()
    appended = 1 + process.stdout.read().count(b"appended")
    process.wait()
    process.stdout.close()
    with SequenceReader(path) as reader:
        assert len(reader) in (appended, appended + 1)
        assert np.array_equal(reader[-1], np.arange(200_000) % 1000)
    with SequenceWriter(path, repair=True) as writer:
        writer.append(b"goes on")
    with SequenceReader(path) as reader:
        assert list(reader)[-1] == b"goes on"

"""Contents beyond 2^31 and 2^32 bytes, and Ctrl-C in the middle of them."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch

import planezip
from planezip import StreamView
from planezip.codec import (
    CODECS,
    adapter,
    describe,
    engine,
    measure,
    read_stream,
    tensors,
    write_stream,
)

SLICE = 3 * 4096


def available_bytes() -> int:
    """Memory that this machine could give now; 0 if it does not tell."""
    if not os.path.exists("/proc/meminfo"):
        return 0
    with open("/proc/meminfo") as file:
        fields = dict(line.split(":") for line in file)
    return 1024 * int(fields["MemAvailable"].split()[0])


@pytest.fixture
def small_slices(monkeypatch):
    monkeypatch.setattr(engine, "SLICE_BYTES", SLICE)


CONTENTS = (np.arange(90_000) % 523 * (np.arange(90_000) % 5 > 1)).astype(np.uint16)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("length", [0, 1, SLICE - 1, SLICE, SLICE + 1, 5 * SLICE, 179_999])
def test_slices_do_not_change_the_bytes(small_slices, monkeypatch, codec, length, tmp_path):
    contents = CONTENTS.tobytes()[:length]
    stream = planezip.compress(contents, codec)
    sizes, info = measure(contents), describe(stream)
    assert planezip.decompress(stream) == contents
    assert planezip.decompress(stream, out=bytearray(length)) == contents
    assert planezip.compressed_size(contents, codec) == info.wire_bytes
    with (tmp_path / "stream").open("w+b") as file:
        file.write(b"before")
        assert write_stream(file, contents, codec) == len(stream)
        file.seek(0)
        assert file.read() == b"before" + stream
    assert b"".join(part.tobytes() for part in read_stream(stream)[1]) == contents
    monkeypatch.undo()
    assert planezip.compress(contents, codec) == stream
    assert measure(contents) == sizes
    assert describe(stream) == info


@pytest.mark.parametrize("stride", [1, 2, 3, 7])
def test_slices_do_not_change_which_chunks_are_measured(small_slices, monkeypatch, stride):
    sizes = measure(CONTENTS, chunk_stride=stride)
    monkeypatch.undo()
    assert measure(CONTENTS, chunk_stride=stride) == sizes


def test_a_fault_in_a_later_slice_says_where(small_slices):
    from forging import sealed

    stream = bytearray(planezip.compress(CONTENTS.tobytes()))
    stream[-30:] = b"\xff" * 30
    with pytest.raises(planezip.CorruptStreamError, match=r"behind byte \d+ of the contents"):
        planezip.decompress(sealed(bytes(stream)))


def test_slices_are_whole_chunks():
    assert engine.SLICE_BYTES % 4096 == 0


@pytest.mark.parametrize("length", [(1 << 31) + 5, (1 << 32) + 12_289])
def test_the_native_engine_counts_beyond_32_bits(length):
    """The bound and the walk over chunk headers, which need no contents of that size."""
    from planezip import _native

    chunks = np.full(0, 0, np.uint8)
    assert _native.encode_bound(length) > length
    with pytest.raises(planezip.CorruptStreamError, match="ends before"):
        _native.check_chunks(chunks, length)
    one = np.frombuffer(planezip.compress(bytes(4096))[25:], np.uint8)
    whole = -(-length // 4096)
    stream = np.tile(one, whole - 1)
    assert _native.span_chunks(stream, (whole - 1) * 4096) == stream.nbytes
    with pytest.raises(planezip.CorruptStreamError, match=f"chunk {whole - 1}: "):
        _native.check_chunks(stream, length)


@pytest.mark.slow
@pytest.mark.skipif(available_bytes() < 16 << 30, reason="needs 16 GiB of memory")
@pytest.mark.parametrize("length", [(1 << 31) + 5, (1 << 32) + 12_289])
def test_contents_beyond_32_bits_come_back(length):
    contents = np.zeros(length, np.uint8)
    for start in range(0, length, 1 << 28):
        part = contents[start : start + (1 << 28)]
        part[::3] = (start >> 28) + 1
    contents[-5000:] = np.arange(5000) % 251
    stream = planezip.compress(contents)
    assert planezip.compress(contents, threads=1) == stream
    assert StreamView(stream).elements(length - 7000, length).tolist() == contents[-7000:].tolist()
    assert describe(stream).byte_length == length
    restored = planezip.decompress(stream)
    assert restored.shape == (length,)
    for start in range(0, length, 1 << 28):
        part = slice(start, start + (1 << 28))
        assert np.array_equal(restored[part], contents[part])


def interrupted(call) -> float:
    """Seconds until a call that is interrupted while it runs gives up."""
    sent = []

    def interrupt() -> None:
        time.sleep(0.05)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    answered = time.monotonic()
    thread.join()
    return answered - sent[0]


@pytest.mark.parametrize("name", ["compress", "decompress", "size", "measure", "describe", "write"])
def test_ctrl_c_is_answered_between_two_slices(monkeypatch, name, tmp_path):
    """Every slice is made to last 20 ms; a call that did not look for signals would last 10 s."""
    contents = bytes(500 * 4096)
    stream = planezip.compress(contents)
    monkeypatch.setattr(engine, "SLICE_BYTES", 4096)

    class Slow:
        calls = 0

        def __getattr__(self, name):
            def slowly(*arguments):
                Slow.calls += 1
                time.sleep(0.02)
                return getattr(native, name)(*arguments)

            return slowly

    native = engine._native
    monkeypatch.setattr(engine, "_native", Slow())
    with (tmp_path / "file").open("wb") as file:
        calls = {
            "compress": lambda: planezip.compress(contents),
            "decompress": lambda: planezip.decompress(stream),
            "size": lambda: planezip.compressed_size(contents),
            "measure": lambda: measure(contents),
            "describe": lambda: describe(stream),
            "write": lambda: write_stream(file, contents),
        }
        interrupted(calls[name])
    assert Slow.calls < 100


@pytest.mark.parametrize("kind", ["memoryview", "tensor", "tensor in one row", "conjugate"])
def test_copies_of_what_is_not_contiguous_are_made_in_pieces(monkeypatch, kind):
    """Between two pieces the interpreter looks for signals."""
    monkeypatch.setattr(adapter, "SLICE_BYTES", 4096)
    monkeypatch.setattr(tensors, "_PIECE_BYTES", 4096)
    values = np.arange(120_000, dtype=np.int32).reshape(300, 400)
    tensor = torch.from_numpy(values)
    x, expected = {
        "memoryview": (memoryview(values)[::2], values[::2]),
        "tensor": (tensor.T, values.T),
        "tensor in one row": (tensor.T[None], values.T[None]),
        "conjugate": (
            torch.complex(tensor.double(), tensor.double()).conj(),
            np.conj(values + values * 1j),
        ),
    }[kind]
    lines = []

    def trace(frame, event, argument):
        if frame.f_code.co_name in ("_contiguous_copy", "_copy") and event == "line":
            lines.append(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        flat, _ = adapter.flatten(x)
    finally:
        sys.settrace(before)
    assert flat.tobytes() == expected.tobytes()
    assert len(lines) > expected.nbytes / 4096


TEN_GB = """
import numpy as np, sys, time
import planezip
contents = np.memmap(sys.argv[1], np.uint8, "r")
try:
    print("ready", flush=True)
    planezip.compressed_size(contents, "bdi", threads=1)
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_is_answered_within_a_second_on_10_gb(tmp_path):
    path = tmp_path / "hole"
    with path.open("wb") as file:
        file.truncate(10_000_000_000)
    process = subprocess.Popen([sys.executable, "-c", TEN_GB, path], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.3)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    answered = float(process.stdout.readline())
    process.wait()
    process.stdout.close()
    assert answered - sent < 1

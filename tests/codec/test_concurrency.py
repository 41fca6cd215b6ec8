"""Any number of threads may compress, decompress and read parts of the same memory at once."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import planezip
from planezip import StreamView
from planezip.codec import CODECS, describe, engine, measure

THREADS = 32


def at_once(work, count: int = THREADS) -> list:
    """The results of work(0) ... work(count - 1), all begun together."""
    together = threading.Barrier(count)

    def begin(number: int):
        together.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


def test_32_threads_share_inputs():
    contents = (np.arange(150_000) % 401 * (np.arange(150_000) % 2)).astype(np.float32)
    streams = {codec: planezip.compress(contents, codec, threads=1) for codec in CODECS}
    sizes = measure(contents, threads=1)
    view = StreamView(streams["planezip"])

    def work(number: int) -> None:
        codec = CODECS[number % len(CODECS)]
        threads = 1 + number % 3
        for turn in range(3):
            assert planezip.compress(contents, codec, threads=threads) == streams[codec]
            restored = planezip.decompress(streams[codec], threads=threads)
            assert restored.tobytes() == contents.tobytes()
            assert measure(contents, threads=threads) == sizes
            start = 1000 * number + turn
            assert np.array_equal(view.elements(start, start + 5000), contents[start:][:5000])
            assert describe(streams[codec]).byte_length == contents.nbytes

    at_once(work)


def test_damaged_and_whole_streams_do_not_disturb_each_other():
    contents = bytes(range(256)) * 800
    stream = planezip.compress(contents)
    damaged = bytearray(stream)
    damaged[len(damaged) // 2] ^= 1

    def work(number: int) -> bool:
        if number % 2:
            return planezip.decompress(stream, threads=2) == contents
        try:
            planezip.decompress(damaged, threads=2)
        except planezip.CorruptStreamError:
            return True
        return False

    assert all(at_once(work))


def native_threads() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_no_call_starts_threads_but_the_first():
    contents = np.arange(80_000, dtype=np.float32)
    stream = planezip.compress(contents, threads=2)
    before = native_threads()
    for _ in range(1000):
        planezip.compress(contents, threads=2)
        planezip.decompress(stream, threads=2)
        assert native_threads() <= before  # those of others may end meanwhile


CONTENTS = np.random.default_rng(0).integers(0, 256, 30_000_000, np.uint8)
CHUNKS = engine.encode(CONTENTS, CODECS.index("bdi"), 32, 2)
HOW = engine.Coding(CODECS.index("bdi"), 32, 1)
NATIVE_WORK = {
    "encode": lambda: engine.encode(CONTENTS, *HOW),
    "decode": lambda: engine.decode(CHUNKS, HOW, np.empty_like(CONTENTS)),
    "measure": lambda: engine.measure(CONTENTS, 32, 63, 1, 1),
    "inspect": lambda: engine.inspect(CHUNKS, HOW, CONTENTS.nbytes),
}


def another_thread_runs_during(work) -> bool:
    """Whether this thread runs before `work`, begun in another, is over.

    The interpreter's lock is taken from no thread meanwhile: it changes hands if `work` lets go.
    """
    begun = threading.Event()
    over = []

    def begin() -> None:
        begun.set()
        work()
        over.append(True)

    worker = threading.Thread(target=begin)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        worker.start()
        begun.wait()
        return not over
    finally:
        sys.setswitchinterval(before)
        worker.join()


@pytest.mark.parametrize("name", NATIVE_WORK)
def test_other_threads_run_during_native_work(name):
    """Tried again if the system was too busy to wake this thread in time."""
    assert any(another_thread_runs_during(NATIVE_WORK[name]) for _ in range(50))


def test_work_that_keeps_the_interpreter_is_noticed():
    assert not any(another_thread_runs_during(lambda: sum(range(300_000))) for _ in range(50))

"""Any number of threads may compress, decompress and read parts of the same memory at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import planezip
from planezip import StreamView
from planezip.codec import CODECS, describe, measure

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


def test_other_threads_run_while_one_compresses():
    """The interpreter is free during native work: a second thread counts meanwhile."""
    contents = np.random.default_rng(0).integers(0, 256, 60_000_000, np.uint8)
    running = threading.Event()
    counted = 0

    def compress() -> None:
        running.set()
        planezip.compressed_size(contents, "bdi", threads=1)
        running.clear()

    worker = threading.Thread(target=compress)
    worker.start()
    running.wait()
    while running.is_set():
        counted += 1
    worker.join()
    assert counted > 100

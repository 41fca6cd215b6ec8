"""compress_bound() is enough for anything, and streams go into the caller's memory unharmed."""

import mmap
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import torch

import planezip
from planezip import InputError, _native
from planezip.codec import CODECS

LENGTHS = [0, 1, 127, 128, 129, 4095, 4096, 4097, 8193, 100_001]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("symbol_bits", [16, 32])
def test_the_bound_is_enough_for_contents_that_do_not_compress(codec, symbol_bits):
    noise = np.random.default_rng(0).integers(0, 256, max(LENGTHS), np.uint8).tobytes()
    for length in LENGTHS:
        contents = noise[:length]
        out = bytearray(planezip.compress_bound(length))
        for threads in (1, 3):
            size = planezip.compress(contents, codec, symbol_bits, threads, out=out)
            assert bytes(out[:size]) == planezip.compress(contents, codec, symbol_bits)
        assert len(out) <= length + 2 * (length // 4096 + 1) + 4096 + 2320


def test_the_bound_covers_the_longest_preamble():
    contents = np.zeros((1,) * 64, "M8[1000000as]")
    size = planezip.compress(contents, out=bytearray(planezip.compress_bound(contents.nbytes)))
    assert size > 500


@pytest.mark.parametrize("size", [-1, 1.5, "8", None, True])
def test_the_bound_is_of_a_number_of_bytes(size):
    with pytest.raises(InputError, match="size_bytes is"):
        planezip.compress_bound(size)


def test_sizes_beyond_any_memory_have_a_bound():
    for power in (31, 32, 40, 50, 62):
        assert 1 << power < planezip.compress_bound(1 << power) < 1.001 * (1 << power)


@pytest.mark.parametrize("size", [2**63, 2**64 - 1, 2**64, 2**200, -1, -(2**63), -(2**64)])
def test_the_engine_has_no_bound_of_impossible_sizes(size):
    with pytest.raises(InputError, match=f"size_bytes is {size}; it can be 0 to"):
        _native.encode_bound(size)


@pytest.mark.parametrize("size", [(1 << 62) + 1, (1 << 64) - 1, 1 << 64, 1 << 200])
def test_sizes_that_would_overflow_are_refused(size):
    with pytest.raises(InputError, match=f"size_bytes is {size}"):
        planezip.compress_bound(size)


MEMORY = {
    "bytearray": bytearray,
    "memoryview": lambda size: memoryview(bytearray(size + 5))[5:],
    "mmap": lambda size: mmap.mmap(-1, size),
    "array": lambda size: np.empty(-(-size // 8)),
    "tensor": lambda size: torch.empty(size, dtype=torch.uint8),
}


@pytest.mark.parametrize("kind", MEMORY)
def test_streams_go_into_any_writable_memory(kind):
    contents = np.arange(3000, dtype=np.float32)
    out = MEMORY[kind](planezip.compress_bound(contents.nbytes))
    size = planezip.compress(contents, out=out)
    memory = out.numpy() if kind == "tensor" else out
    stream = memoryview(memory).cast("B")[:size]
    assert bytes(stream) == planezip.compress(contents)
    stream.release()


def _read_only() -> np.ndarray:
    array = np.empty(1 << 16, np.uint8)
    array.flags.writeable = False
    return array


BAD = {
    "too small": (lambda: bytearray(planezip.compress_bound(4000) - 1), "compress_bound"),
    "empty": (bytearray, "compress_bound"),
    "bytes": (lambda: bytes(1 << 16), "writable"),
    "read-only": (_read_only, "writable"),
    "strided": (lambda: np.empty(1 << 16, np.uint8)[::2], "contiguous"),
    "not memory": (lambda: 7, "writable"),
    "objects": (lambda: np.zeros(1 << 16, object), "pointers"),
    "text of any length": (lambda: np.empty(1 << 16, np.dtypes.StringDType()), "pointers"),
    "objects in a buffer": (lambda: memoryview(np.zeros(1 << 16, object)), "pointers"),
    "meta tensor": (lambda: torch.empty(1 << 16, device="meta"), "ordinary memory"),
}


@pytest.mark.parametrize("why", BAD)
def test_memory_that_does_not_do_is_refused(why):
    make, said = BAD[why]
    with pytest.raises(InputError, match=said):
        planezip.compress(bytes(4000), out=make())


def test_memory_that_overlaps_the_contents_is_refused():
    memory = np.zeros(1 << 16, np.uint8)
    with pytest.raises(InputError, match="shares memory"):
        planezip.compress(memory[-4096:], out=memory)
    assert not memory.any()


def test_nothing_is_written_beyond_the_bound():
    contents = np.random.default_rng(1).integers(0, 256, 50_001, np.uint8)
    bound = planezip.compress_bound(contents.nbytes)
    memory = np.full(bound + 64, 0xA5, np.uint8)
    planezip.compress(contents, threads=2, out=memory[:bound])
    assert (memory[bound:] == 0xA5).all()


def peak_bytes(call) -> int:
    """Python's memory in use at most during a call, beyond what was in use before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("threads", [1, 2])
def test_no_memory_is_asked_for_beside_the_output(threads):
    contents = np.random.default_rng(2).integers(0, 256, 20_000_000, np.uint8)
    stream = planezip.compress(contents)
    a_little = 200_000
    bound = planezip.compress_bound(contents.nbytes)
    out, back = bytearray(bound), np.empty_like(contents)
    assert peak_bytes(lambda: planezip.compress(contents, threads=threads)) < bound + a_little
    assert peak_bytes(lambda: planezip.compress(contents, threads=threads, out=out)) < a_little
    assert peak_bytes(lambda: planezip.compressed_size(contents, threads=threads)) < a_little
    length = contents.nbytes
    assert peak_bytes(lambda: planezip.decompress(stream, threads=threads)) < length + a_little
    assert peak_bytes(lambda: planezip.decompress(stream, out=back, threads=threads)) < a_little
    raw = planezip.compress(contents.data)
    assert peak_bytes(lambda: planezip.decompress(raw, threads=threads)) < length + a_little


LARGE_BYTES = 256 << 20
PEAK = """
import resource, sys
import numpy as np
import planezip


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


size = int(sys.argv[1])
contents, back = (np.ones(size // 4, np.float32) for _ in range(2))
contents[::5] = np.arange(contents[::5].size)
out = np.ones(planezip.compress_bound(size), np.uint8)
planezip.decompress(planezip.compress(contents[: 1 << 20], threads=2), threads=2)  # starts threads
before = peak_bytes()
for threads in (1, 2):
    written = planezip.compress(contents, threads=threads, out=out)
    planezip.decompress(out[:written], threads=threads, out=back)
planezip.compressed_size(contents, threads=2)
print(peak_bytes() - before)
assert np.array_equal(back[-1000:], contents[-1000:])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count the peak in other units")
def test_no_memory_of_the_system_is_asked_for_beside_the_output():
    """Not only Python's: the process, given its output, never grows."""
    command = [sys.executable, "-c", PEAK, str(LARGE_BYTES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 4 << 20

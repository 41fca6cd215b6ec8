"""Bad arguments get one clear line that names them; good `out` objects are filled in place."""

import numpy as np
import pytest

import planezip
from planezip import InputError
from planezip.codec import measure

CALLS = {
    "compress": planezip.compress,
    "compressed_size": planezip.compressed_size,
    "measure": measure,
}


def refused(match: str):
    return pytest.raises(InputError, match=match)


CONTENTS = {
    "type list": lambda: [1, 2],
    "type str": lambda: "text",
    "type NoneType": lambda: None,
    "dtype object": lambda: np.array([1, "a"], object),
    "dtype StringDType": lambda: np.array(["a"], np.dtypes.StringDType()),
    r"dtype \[\('a'": lambda: np.zeros(2, [("a", "i4"), ("b", "f4")]),
    "masked array": lambda: np.ma.zeros(3),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", CONTENTS)
def test_contents_that_cannot_be_compressed(call, name):
    with refused(name) as caught:
        CALLS[call](CONTENTS[name]())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("symbol_bits", [8, 64, 0, "16", 16.5])
def test_symbol_width(call, symbol_bits):
    with refused("symbol_bits is .*16 or 32"):
        CALLS[call](b"abc", symbol_bits=symbol_bits)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_threads(call, threads):
    with refused("threads is .*at least 1"):
        CALLS[call](b"abc", threads=threads)


def test_codec_name():
    for call in (planezip.compress, planezip.compressed_size):
        with refused("unknown codec 'zip'; use one of zvc, bdi, bpc, bx, zbx, planezip"):
            call(b"abc", codec="zip")


@pytest.mark.parametrize("stride", [0, -2, 0.5, None])
def test_chunk_stride(stride):
    with refused("chunk_stride is"):
        measure(b"abc", chunk_stride=stride)


def test_stream_that_is_not_bytes():
    for stream in (None, "PLZ", 7):
        with refused("cannot decompress an object of type"):
            planezip.decompress(stream)


def test_numpy_integers_are_integers():
    data = np.arange(5000)
    assert planezip.compress(data, threads=np.int64(2)) == planezip.compress(data)


def test_decompress_into_an_array():
    original = np.arange(3000, dtype=np.float32).reshape(3, 1000)
    out = np.empty_like(original)
    assert planezip.decompress(planezip.compress(original), out=out) is out
    assert out.tobytes() == original.tobytes()


def test_decompress_into_an_empty_or_0d_array():
    for original in (np.empty((0, 3)), np.array(2.5)):
        out = np.empty_like(original)
        assert planezip.decompress(planezip.compress(original), out=out) is out
        assert out.tobytes() == original.tobytes()


@pytest.mark.parametrize("length", [0, 1, 300])
def test_decompress_into_a_buffer(length):
    stream = planezip.compress(bytes(range(100)) * 3)
    contents = (bytes(range(100)) * 3)[:length]
    stream = planezip.compress(contents)
    out = bytearray(length)
    assert planezip.decompress(stream, out=out) is out
    assert out == contents


def _read_only() -> np.ndarray:
    array = np.empty((4, 6), np.int32)
    array.flags.writeable = False
    return array


BAD_OUT = {
    "another dtype": lambda: np.empty((4, 6), np.uint32),
    "another byte order": lambda: np.empty((4, 6), ">i4"),
    "another shape": lambda: np.empty((6, 4), np.int32),
    "not contiguous": lambda: np.empty((6, 4), np.int32).T,
    "read-only": _read_only,
    "a buffer": lambda: bytearray(96),
    "not memory": lambda: 5,
}


@pytest.mark.parametrize("why", BAD_OUT)
def test_out_that_does_not_fit_is_refused(why):
    stream = planezip.compress(np.arange(24, dtype=np.int32).reshape(4, 6))
    with refused("^out must be"):
        planezip.decompress(stream, out=BAD_OUT[why]())


@pytest.mark.parametrize("out", [bytearray(11), bytes(12), memoryview(bytearray(24))[::2], [0]])
def test_out_buffer_that_does_not_fit_is_refused(out):
    with refused("^out must be"):
        planezip.decompress(planezip.compress(b"twelve bytes"), out=out)


def test_out_that_overlaps_the_stream_is_refused():
    stream = planezip.compress(bytes(4096))
    memory = memoryview(bytearray(stream + bytes(4096)))
    with refused("shares memory"):
        planezip.decompress(memory[: len(stream)], out=memory[len(stream) - 1 : -1])
    assert bytes(memory[: len(stream)]) == stream
    out = memory[len(stream) :]
    assert planezip.decompress(memory[: len(stream)], out=out) is out


def test_old_contents_of_out_do_not_matter():
    original = np.zeros(5000, np.uint8)
    out = np.full(5000, 0xFF, np.uint8)
    planezip.decompress(planezip.compress(original), out=out)
    assert not out.any()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.array])
def test_counts_and_widths_may_be_integers_of_numpy(call, kind):
    data = np.arange(5000.0)
    options = {"symbol_bits": 16, "threads": 2}
    numbers = {name: kind(value) for name, value in options.items()}
    assert CALLS[call](data, **numbers) == CALLS[call](data, **options)

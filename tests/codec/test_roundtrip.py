"""What is compressed comes back: bits, dtype and shape, for every kind of contents."""

import array
import mmap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planezip
from planezip import InputError
from planezip.codec import CODECS, measure

DTYPES = [
    *("?", "i1", "u1", "<i2", ">u2", "<i4", ">i8", "<u8", "<f2", ">f2", "<f4", ">f4", "<f8", "g"),
    *("<c8", ">c16", "G", "S3", "S0", "<U2", ">U2", "V5", "<M8[ns]", ">M8[D]", "<m8[25s]"),
]


def same(restored: np.ndarray, original: np.ndarray) -> None:
    assert type(restored) is np.ndarray
    assert restored.dtype == original.dtype
    assert restored.dtype.str == original.dtype.str
    assert restored.shape == original.shape
    assert restored.tobytes() == original.tobytes()
    assert restored.flags.c_contiguous
    assert restored.flags.writeable


def check(original: np.ndarray, **options) -> None:
    before = original.tobytes()
    stream = planezip.compress(original, **options)
    assert type(stream) is bytes
    assert original.tobytes() == before
    same(planezip.decompress(stream), original)


def some_bytes(count: int, seed: int = 0) -> np.ndarray:
    """Bytes of which about half are zero."""
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 256, count) * (rng.random(count) < 0.5)).astype(np.uint8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 5), (7, 11)])
def test_every_dtype_and_shape(dtype, shape):
    kind = np.dtype(dtype)
    data = some_bytes(int(np.prod(shape)) * kind.itemsize)
    check(np.ndarray(shape, kind, data) if data.size else np.ndarray(shape, kind, bytearray()))


LARGEST = ("S999999999", "S1000000000", "S2147483647", "V2147483647", "<U536870911", ">U500000000")


@pytest.mark.parametrize("dtype", [*LARGEST, "<m8[2147483647ns]", ">M8[1000000000as]"])
def test_what_is_compressed_can_be_restored_however_large_elements_are(dtype):
    check(np.empty((2, 0), dtype))


def test_dimensions_that_no_reader_takes_are_never_written():
    """NumPy allows them for elements of no bytes, and counts these as none; a stream as one."""
    check(np.empty((1 << 31, 0, 1 << 31), "V0"))
    for call in (planezip.compress, planezip.compressed_size, measure):
        with pytest.raises(InputError, match="such large dimensions"):
            call(np.empty((1 << 40, 0, 1 << 40), "V0"))


@pytest.mark.parametrize("name", sorted(np.sctypeDict, key=str))
def test_every_element_type_of_numpy_comes_back_or_is_refused(name):
    kind = np.dtype(np.sctypeDict[name])
    array = np.zeros(3, kind)
    if kind.hasobject or kind.kind == "T":
        with pytest.raises(planezip.InputError, match="pointers"):
            planezip.compress(array)
    else:
        check(array)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("symbol_bits", [16, 32])
def test_every_codec_width_and_length(codec, symbol_bits):
    data = some_bytes(9000)
    for length in [*range(301), 4095, 4096, 4097, 4224, 8191, 8192, 8193, 9000]:
        contents = data[:length].tobytes()
        stream = planezip.compress(contents, codec, symbol_bits)
        assert planezip.decompress(stream) == contents


STRIDED = {
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-1],
    "sliced": lambda x: x[1::3, ::2],
    "zero-stride": lambda x: np.broadcast_to(x[0], (5, *x[0].shape)),
    "column": lambda x: x[:, 3],
    "0-d": lambda x: x[2, 3],
    "Fortran order": np.asfortranarray,
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1),
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype),
    "byte-swapped": lambda x: x.astype(">f4"),
}


@pytest.mark.parametrize("name", STRIDED)
def test_any_strides(name):
    original = STRIDED[name](some_bytes(4 * 31 * 17).view("<f4").reshape(31, 17))
    check(np.asarray(original))
    same(planezip.decompress(planezip.compress(original)), np.asarray(original))


SPECIAL = {
    "float32": [
        *(0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x7F800000, 0xFF800000),
        *(0x7FC00000, 0xFFC00001, 0x7F800001, 0xFFBFFFFF, 0x3F800000),
    ],
    "float16": [0x0000, 0x8000, 0x0001, 0x83FF, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFDFF, 0xFE01],
    "float64": [0, 1 << 63, 1, 0x7FF0000000000001, 0xFFF8000000000001, 0x7FF8DEADBEEF0000],
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("dtype", SPECIAL)
def test_zeros_subnormals_infinities_and_nan_payloads_keep_their_bits(dtype, codec):
    bits = np.array(SPECIAL[dtype], f"u{np.dtype(dtype).itemsize}")
    for repeats in (1, 3, 400):
        check(np.tile(bits, repeats).view(dtype), codec=codec)
        check(np.repeat(bits, repeats).view(dtype), codec=codec)


BUFFERS = {
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "strided memoryview": lambda data: memoryview(data + data)[::2],
    "array": lambda data: array.array("h", data),
    "typed memoryview": lambda data: memoryview(data).cast("f", (5, 10)),
}


@pytest.mark.parametrize("kind", BUFFERS)
def test_bytes_like_objects_come_back_as_bytes(kind):
    buffer = BUFFERS[kind](some_bytes(200).tobytes())
    restored = planezip.decompress(planezip.compress(buffer))
    assert type(restored) is bytes
    assert restored == memoryview(buffer).tobytes()


def test_a_stream_can_be_any_bytes_like_object():
    stream = planezip.compress(b"abc" * 50)
    with mmap.mmap(-1, len(stream)) as mapped:
        mapped[:] = stream
        assert planezip.decompress(mapped) == b"abc" * 50
    assert planezip.decompress(np.frombuffer(stream, np.uint8)) == b"abc" * 50
    assert planezip.decompress(memoryview(stream + stream)[: len(stream)]) == b"abc" * 50


@settings(max_examples=200, deadline=None)
@given(
    data=st.binary(max_size=1200),
    codec=st.sampled_from(CODECS),
    symbol_bits=st.sampled_from([None, 16, 32]),
)
def test_any_bytes(data, codec, symbol_bits):
    assert planezip.decompress(planezip.compress(data, codec, symbol_bits)) == data


@pytest.mark.parametrize("codec", CODECS)
def test_thread_counts_do_not_change_the_bytes(codec):
    data = some_bytes(100 * 4096 + 77)
    stream = planezip.compress(data, codec, threads=1)
    size = planezip.compressed_size(data, codec, threads=1)
    for threads in (2, 3, 7, 64, 1000, None):
        assert planezip.compress(data, codec, threads=threads) == stream
        assert planezip.compressed_size(data, codec, threads=threads) == size
        same(planezip.decompress(stream, threads=threads), data)


def test_large_contents_use_threads_by_themselves():
    data = some_bytes(5 << 20)
    stream = planezip.compress(data)
    assert stream == planezip.compress(data, threads=1)
    same(planezip.decompress(stream), data)


def test_default_symbol_width_follows_the_element_type():
    from planezip.codec import describe

    widths = {"<f2": 16, ">f2": 16, "<f4": 32, "<i2": 32, "u1": 32, "<f8": 32}
    for dtype, width in widths.items():
        assert describe(planezip.compress(np.zeros(8, dtype))).symbol_bits == width
    assert describe(planezip.compress(b"12")).symbol_bits == 32

"""The short way that small contents take gives what the general way gives, errors included."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import planezip
from forging import sealed
from planezip import CorruptStreamError
from planezip.codec import CODECS, preamble

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support")

DTYPES = ["?", "u1", "<i2", ">i4", "<f2", "<f4", "<f8", "<c16", "S3", "V5", "<M8[s]", "<M8[1000ms]"]
TORCH_DTYPES = [torch.bfloat16, torch.float8_e4m3fn, torch.complex32, torch.float32, torch.bool]

shapes = st.lists(st.integers(0, 9), max_size=3).map(tuple) | st.just((70_000,))


@st.composite
def small_contents(draw) -> object:
    """An array, a tensor or bytes; one in a few is too large for the short way."""
    shape = draw(shapes)
    family, count = draw(st.sampled_from(["numpy", "torch", "bytes"])), int(np.prod(shape))
    noise = np.random.default_rng(count).integers(0, 5, 16 * count, np.uint8)
    if family == "bytes":
        return noise[:count].tobytes()
    if family == "numpy":
        dtype = np.dtype(draw(st.sampled_from(DTYPES)))
        return np.ndarray(shape, dtype, noise.tobytes()) if count else np.empty(shape, dtype)
    dtype = draw(st.sampled_from(TORCH_DTYPES))
    flat = torch.from_numpy(noise[: count * dtype.itemsize] % (2 if dtype == torch.bool else 5))
    return flat.view(dtype).reshape(shape) if count else torch.empty(shape, dtype=dtype)


def plain(x: object) -> tuple:
    """What two results have in common if they are the same."""
    if isinstance(x, torch.Tensor):
        memory = x.contiguous().reshape(-1).view(torch.uint8) if x.numel() else torch.empty(0)
        return "tensor", x.dtype, x.shape, memory.numpy().tobytes()
    if isinstance(x, np.ndarray):
        return "array", x.dtype.str, x.shape, x.tobytes()
    return "bytes", bytes(x)


def outcome(call, *arguments, **options) -> tuple:
    try:
        return plain(call(*arguments, **options))
    except (CorruptStreamError, planezip.InputError) as error:
        return type(error), str(error)


@settings(max_examples=150, deadline=None)
@given(small_contents(), st.sampled_from(CODECS))
def test_the_streams_are_the_same(x, codec):
    stream = planezip.compress(x, codec)
    assert planezip.compress(x, codec, threads=1) == stream
    width = planezip.codec.describe(stream).symbol_bits
    assert planezip.compress(x, codec, symbol_bits=width) == stream
    out = bytearray(planezip.compress_bound(planezip.codec.describe(stream).byte_length))
    assert bytes(out[: planezip.compress(x, codec, out=out)]) == stream


@settings(max_examples=150, deadline=None)
@given(small_contents(), st.sampled_from(CODECS))
def test_the_results_are_the_same(x, codec):
    stream = planezip.compress(x, codec)
    for same in (memoryview(stream), np.frombuffer(stream, np.uint8), bytearray(stream)):
        assert plain(planezip.decompress(same)) == plain(planezip.decompress(stream)) == plain(x)
    assert plain(planezip.decompress(stream, threads=1)) == plain(x)
    out = planezip.decompress(stream)
    out = bytearray(out) if isinstance(out, bytes) else out
    assert planezip.decompress(stream, out=out) is out
    assert plain(out) == plain(x)


@settings(max_examples=200, deadline=None)
@given(small_contents(), st.integers(0, 1 << 32), st.booleans())
def test_the_errors_are_the_same(x, seed, resealed):
    rng = np.random.default_rng(seed)
    damaged = bytearray(planezip.compress(x))
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(damaged)))
        match rng.integers(4):
            case 0 | 1:
                damaged[at % 40 % len(damaged)] ^= 1 << int(rng.integers(8))
            case 2:
                damaged[at] ^= 1 << int(rng.integers(8))
            case 3:
                del damaged[at + 1 :]
    stream = sealed(bytes(damaged)) if resealed and len(damaged) > 24 else bytes(damaged)
    assert outcome(planezip.decompress, stream) == outcome(planezip.decompress, memoryview(stream))
    out = np.empty(3)
    short, general = (
        outcome(planezip.decompress, same, out=out) for same in (stream, memoryview(stream))
    )
    assert short == general


@pytest.mark.parametrize("out", [bytes(5), bytearray(4), np.empty(5, object), 3, np.empty(5, "u1")])
def test_an_out_that_does_not_fit_is_refused_by_the_same_line(out):
    stream = planezip.compress(b"five!")
    short = outcome(planezip.decompress, stream, out=out)
    assert short == outcome(planezip.decompress, memoryview(stream), out=out)


def test_what_is_remembered_of_a_kind_is_not_taken_for_another():
    """Element types and shapes that are equal, or have equal hashes, but other names."""
    for unit in ("M8[s]", "M8[1000ms]", "M8[s]", "m8[60s]", "m8[m]", ">M8[s]"):
        array = np.zeros(5, unit)
        assert planezip.decompress(planezip.compress(array)).dtype.str == array.dtype.str
    for symbol_bits in (16, 32):
        stream = planezip.compress(np.zeros(5), symbol_bits=symbol_bits)
        assert planezip.codec.describe(stream).symbol_bits == symbol_bits
        with pytest.raises(planezip.InputError, match="symbol_bits"):
            planezip.compress(np.zeros(5), symbol_bits=float(symbol_bits))
    for codec in (["zvc"], {}, None, 5):
        with pytest.raises(planezip.InputError, match="unknown codec"):
            planezip.compress(np.zeros(5), codec=codec)


def test_small_streams_of_large_contents_take_the_general_way():
    contents = bytes(1 << 20)
    stream = planezip.compress(contents)
    assert len(stream) < preamble.SMALL_BYTES < len(contents)
    assert planezip.decompress(stream) == contents

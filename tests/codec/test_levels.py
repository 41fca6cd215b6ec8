"""Every level that the machine has writes the reference's bytes and refuses what others refuse."""

import struct
from itertools import pairwise

import numpy as np
import pytest

from planezip import CorruptStreamError, _native
from planezip.codec import CODECS, levels, reference

WIDTHS = (16, 32)
NAMES = levels.levels()
BLOCK_BYTES = 128


@pytest.fixture(scope="module")
def contents(real_blocks, synthetic_blocks) -> dict[int, list[bytes]]:
    """Symbol width -> contents of one to many chunks, not all of whole blocks."""
    rng = np.random.default_rng(0)
    made = {}
    for width in WIDTHS:
        rows = np.concatenate([real_blocks[width][::12], synthetic_blocks[width][::9]])
        rng.shuffle(rows)
        data = rows.tobytes()
        cuts = [0, 1, 500, 5000, 9096, 20000, len(data)]
        made[width] = [data[a:b] for a, b in pairwise(cuts)]
    return made


@pytest.fixture(scope="module")
def streams(contents) -> dict[tuple[int, str], list[bytes]]:
    """(width, codec) -> what the reference makes of the contents."""
    return {
        (width, codec): [reference.encode(data, codec, width) for data in contents[width]]
        for width in WIDTHS
        for codec in CODECS
    }


def flat(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


def encoded(data: bytes, codec: str, width: int, threads: int = 1) -> bytes:
    out = np.empty(_native.encode_bound(len(data)), np.uint8)
    size = _native.encode(flat(data), CODECS.index(codec), width, threads, out)
    return out[:size].tobytes()


def decoded(stream: bytes, codec: str, width: int, length: int, threads: int = 1) -> bytes:
    out = np.full(length, 0xA5, np.uint8)
    _native.decode(flat(stream), CODECS.index(codec), width, threads, out)
    return out.tobytes()


def outcome(stream: bytes, codec: str, width: int, length: int) -> bytes | str:
    """The contents, or what is wrong with the stream."""
    try:
        return decoded(stream, codec, width, length)
    except CorruptStreamError as error:
        return str(error)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", NAMES)
def test_levels_write_and_read_the_references_streams(name, codec, width, contents, streams):
    with levels.use_level(name):
        for data, stream in zip(contents[width], streams[width, codec], strict=True):
            for threads in (1, 3):
                assert encoded(data, codec, width, threads) == stream
                assert decoded(stream, codec, width, len(data), threads) == data


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_levels_measure_what_the_reference_writes(name, width, contents, streams):
    with levels.use_level(name):
        for i, data in enumerate(contents[width]):
            sizes = [len(streams[width, codec][i]) for codec in CODECS]
            assert _native.measure(flat(data), width, 63, 1, 1)[1] == sizes
            for number, size in enumerate(sizes):
                assert _native.measure(flat(data), width, 1 << number, 1, 2)[1][number] == size


def random_blocks(width: int, count: int) -> np.ndarray:
    """Blocks of every number of zeros and of leading zero bits, neighbours alike or not."""
    rng = np.random.default_rng(width)
    symbols = rng.integers(0, 1 << width, (count, 1024 // width), np.uint64)
    symbols >>= rng.integers(0, width, (count, 1), np.uint64)
    near = rng.random((count, 1)) < 0.3
    steps = np.cumsum(rng.integers(-3, 4, symbols.shape), axis=1).astype(np.uint64)
    symbols = np.where(near, symbols[:, :1] + steps, symbols)
    symbols[rng.random(symbols.shape) < rng.random((count, 1)) * 1.2 - 0.2] = 0
    return symbols.astype(f"<u{width // 8}").view(np.uint8)


@pytest.mark.parametrize("width", WIDTHS)
def test_levels_agree_on_many_blocks(width):
    data = random_blocks(width, 40_000).tobytes()
    for codec in CODECS:
        seen = set()
        for name in NAMES:
            with levels.use_level(name):
                stream = encoded(data, codec, width)
                assert decoded(stream, codec, width, len(data)) == data
                assert (
                    len(stream)
                    == _native.measure(flat(data), width, 63, 1, 1)[1][CODECS.index(codec)]
                )
                seen.add(stream)
        assert len(seen) == 1


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("codec", CODECS)
def test_levels_read_or_refuse_the_same_forgeries(codec, width):
    rng = np.random.default_rng(CODECS.index(codec))
    blocks = random_blocks(width, 600)
    outcomes = []
    for _ in range(1500):
        rows = blocks[rng.integers(0, len(blocks), rng.integers(1, 5))]
        forgery = bytearray(encoded(rows.tobytes(), codec, width))
        for _ in range(rng.integers(1, 4)):
            forgery[rng.integers(2, len(forgery))] ^= 1 << int(rng.integers(8))
        seen = set()
        for name in NAMES:
            with levels.use_level(name):
                seen.add(outcome(bytes(forgery), codec, width, rows.size))
        assert len(seen) == 1
        outcomes.append(seen.pop())
    assert {str, bytes} == set(map(type, outcomes))


@pytest.mark.parametrize("width", WIDTHS)
def test_levels_read_or_refuse_the_same_random_payloads(width):
    rng = np.random.default_rng(9)
    for _ in range(1500):
        codec = CODECS[rng.integers(6)]
        sparse = rng.integers(0, 256, rng.integers(1, 128)) & rng.integers(0, 256)
        payload = sparse.astype(np.uint8).tobytes()
        stream = struct.pack("<H", len(payload)) + payload
        seen = set()
        for name in NAMES:
            with levels.use_level(name):
                seen.add(outcome(stream, codec, width, BLOCK_BYTES))
        assert len(seen) == 1

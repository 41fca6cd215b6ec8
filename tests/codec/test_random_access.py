"""Parts of the contents are what they are in the whole, and cost only their own chunks."""

import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import planezip
from forging import sealed
from planezip import CorruptStreamError, InputError, StreamView
from planezip.codec import engine, preamble, random_access

DATA = (np.arange(300_000) % 977 * (np.arange(300_000) % 3 > 0)).astype(np.float32)[:299_999]
STREAM = planezip.compress(DATA)
VIEW = StreamView(STREAM)


@settings(max_examples=150, deadline=None)
@given(st.tuples(st.integers(0, DATA.size), st.integers(0, DATA.size)).map(sorted))
def test_any_range_of_elements_and_bytes(ends):
    start, stop = ends
    part = VIEW.elements(start, stop)
    assert part.dtype == DATA.dtype
    assert part.shape == (stop - start,)
    assert part.tobytes() == DATA[start:stop].tobytes()
    assert VIEW.bytes(start, stop) == DATA.tobytes()[start:stop]


@pytest.mark.parametrize("at", [0, 1023, 1024, 1025, 262_143, 262_144, 298_975, 298_976, 299_998])
def test_ranges_at_the_edges_of_chunks_and_of_the_index(at):
    for length in (0, 1, 2, 1024, 1025, 299_999):
        stop = min(at + length, DATA.size)
        assert VIEW.elements(at, stop, threads=2).tobytes() == DATA[at:stop].tobytes()


def test_ranges_are_of_the_kind_that_was_compressed():
    tensor = torch.arange(5000).bfloat16().reshape(50, 100)
    part = planezip.decompress_range(planezip.compress(tensor), 4990, 4997)
    assert type(part) is torch.Tensor
    assert torch.equal(part, tensor.reshape(-1)[4990:4997])
    assert planezip.decompress_range(planezip.compress(b"abcdefgh"), 2, 5) == b"cde"
    swapped = np.arange(100, dtype=">i8")
    part = planezip.decompress_range(planezip.compress(swapped), 98, 100)
    assert part.dtype == swapped.dtype
    assert part.tolist() == [98, 99]


def test_a_view_says_what_it_is_of():
    view = StreamView(planezip.compress(np.zeros((3, 5), ">f4")))
    assert (view.family, view.dtype, view.shape, view.byte_length) == ("numpy", ">f4", (3, 5), 60)
    assert len(view) == 15
    assert len(StreamView(planezip.compress(b""))) == 0
    assert len(StreamView(planezip.compress(np.ndarray(7, "S0", bytearray())))) == 0
    assert StreamView(planezip.compress(np.array(2.5))).elements(0, 1).tolist() == [2.5]


@pytest.mark.parametrize("ends", [(-1, 2), (3, 2), (0, 300_000), (300_000, 300_001), (0.5, 1)])
def test_ranges_that_are_not_there_are_refused(ends):
    for read in (VIEW.elements, VIEW.bytes):
        if read == VIEW.bytes and ends[1] > DATA.size:
            ends = tuple(4 * end for end in ends)
        with pytest.raises(InputError, match=r"start is|stop is|the stream holds"):
            read(*ends)


def test_only_the_chunks_of_a_range_are_decoded():
    """Chunks before and behind are destroyed, and nobody minds."""
    contents = bytes(range(256)) * 400
    stream = bytearray(planezip.compress(contents))
    stream[-20:] = b"\xff" * 20
    view = StreamView(stream, verify=False)
    assert view.bytes(4096, 8192) == contents[4096:8192]
    with pytest.raises(CorruptStreamError):
        view.bytes(0, len(contents))
    with pytest.raises(CorruptStreamError, match="checksum"):
        StreamView(stream)


def test_damage_is_noticed_without_the_checksum_or_the_contents_are_some_bytes():
    rng = np.random.default_rng(3)
    for _ in range(300):
        stream = bytearray(STREAM[:40] + STREAM[40:])
        for at in rng.integers(0, len(stream), 3):
            stream[at] = rng.integers(256)
        try:
            part = StreamView(sealed(bytes(stream)), verify=False).bytes(100_000, 100_100)
        except CorruptStreamError:
            continue
        assert len(part) == 100


@pytest.mark.parametrize(("start", "stop"), [(1, 9_000_001), (4096, 9_000_000), (5, 8192)])
def test_nothing_is_decoded_beside_the_result_but_the_two_chunks_at_its_ends(start, stop):
    contents = np.random.default_rng(0).integers(0, 9, 9_000_005, np.uint8)
    view = StreamView(planezip.compress(contents))
    tracemalloc.start()
    try:
        part = view.elements(start, stop)
        assert tracemalloc.get_traced_memory()[1] < stop - start + 20_000
    finally:
        tracemalloc.stop()
    assert np.array_equal(part, contents[start:stop])


def test_the_checksum_is_compared_once_a_view_or_not_at_all(monkeypatch):
    compared = []
    digest = preamble._digest
    monkeypatch.setattr(preamble, "_digest", lambda *a: compared.append(1) or digest(*a))
    view = StreamView(STREAM)
    view.elements(5, 9), view.bytes(0, 10_000)
    assert len(compared) == 1
    planezip.decompress_range(STREAM, 5, 9)
    assert len(compared) == 2
    assert planezip.decompress_range(STREAM, 5, 9, verify=False).tolist() == DATA[5:9].tolist()
    assert len(compared) == 2


def test_a_fault_says_where_it_is(monkeypatch):
    stream = bytearray(STREAM)
    stream[-20:] = b"\xff" * 20
    monkeypatch.setattr(engine, "SLICE_BYTES", 1 << 18)
    with pytest.raises(CorruptStreamError, match=r"behind byte \d+ of the contents"):
        StreamView(stream, verify=False).bytes(4096, 4 * DATA.size - 1)


def test_the_index_is_of_whole_chunks():
    assert random_access._STRIDE_BYTES % 4096 == 0

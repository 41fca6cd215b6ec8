"""Any bytes whatsoever, into any function that reads streams: refused as corrupt, or read."""

import contextlib
import tracemalloc

import numpy as np
import pytest
import torch

import planezip
from forging import forged, sealed
from planezip import CorruptStreamError, SequenceReader, StreamView
from planezip.codec import CODECS, describe, read_stream
from planezip.codec.archives import STREAM, archive_of
from planezip.codec.archives.settings import Settings
from planezip.codec.numcodec import PlaneZip


@contextlib.contextmanager
def silent(total: int | None):
    yield lambda done: None


def everything(stream: bytes) -> object:
    view = StreamView(stream, verify=False)
    return view.elements(0, len(view)), view.bytes(0, view.byte_length)


READERS = {
    "decompress": planezip.decompress,
    "describe": describe,
    "view": everything,
    "range": lambda stream: planezip.decompress_range(stream, 0, 0),
    "slices": lambda stream: [part.copy() for part in read_stream(stream)[1]],
    "numcodecs": lambda stream: PlaneZip().decode(stream),
}

ORIGINALS = [
    planezip.compress(b""),
    planezip.compress(bytes(range(9)) * 70),
    planezip.compress(np.arange(60.0).reshape(3, 4, 5)),
    planezip.compress(np.array("2024-01-01", "M8[D]")),
    planezip.compress(torch.arange(40).bfloat16().reshape(4, 10)),
    *(planezip.compress(np.arange(99, dtype=np.float32), codec) for codec in CODECS),
]


def damaged(original: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes overwritten, removed, put in or repeated."""
    out = bytearray(original)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(0, len(out)))
        match rng.integers(0, 4):
            case 0:
                out[at] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.integers(256)]))
            case 1:
                del out[at:]
                out += bytes(1)
            case 2:
                out.insert(at, int(rng.integers(256)))
            case _:
                out[at:at] = out[at : at + 9]
    return bytes(out)


@pytest.mark.parametrize("name", READERS)
def test_forged_streams(name):
    rng = np.random.default_rng(11)
    read = 0
    for turn in range(1500):
        stream = damaged(ORIGINALS[turn % len(ORIGINALS)], rng).ljust(25, b"\0")
        with contextlib.suppress(CorruptStreamError):
            READERS[name](sealed(stream) if turn % 4 else stream)
            read += 1
    assert 0 < read < 1500


@pytest.mark.parametrize("name", READERS)
def test_noise(name):
    rng = np.random.default_rng(12)
    for length in range(200):
        noise = rng.integers(0, 256, length, np.uint8).tobytes()
        for stream in (noise, b"PLZ\1" + noise, ORIGINALS[2][:30] + noise):
            with pytest.raises(CorruptStreamError):
                READERS[name](stream)


@pytest.mark.parametrize("suffix", [".safetensors", ".npz", ".npy", ".pz", ".plzs"])
def test_noise_in_files(tmp_path, suffix):
    rng = np.random.default_rng(13)
    heads = {
        ".safetensors": b"\x08\0\0\0\0\0\0\0",
        ".npz": b"PK\5\6",
        ".npy": b"\x93NUMPY\1\0v\0{",
        ".pz": b"PLZ\1",
        ".plzs": b"PLZS\0\0\0\0",
    }
    path = tmp_path / f"noise{suffix}"
    for length in range(120):
        noise = rng.integers(0, 256, length, np.uint8).tobytes()
        for content in (noise, heads[suffix] + noise):
            path.write_bytes(content)
            if suffix == ".plzs":
                with SequenceReader(path) as reader, contextlib.suppress(CorruptStreamError):
                    assert list(reader) == []
                continue
            kind = archive_of(path) or STREAM
            with pytest.raises(CorruptStreamError):
                kind.decompress(path, tmp_path / "out", Settings(), silent)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("length", [4097, 1 << 20, 1 << 31, 1 << 33, 1 << 62, (1 << 64) - 1])
def test_no_length_that_lies_makes_a_reader_ask_for_memory(name, length):
    """A stream may ask for 4,096 / 3 times its length, and each reader for a little beside."""
    chunks = b"\x24\x00" + bytes(36)
    for stream in (forged(chunks, length), forged(chunks * 20, length)):
        tracemalloc.start()
        with pytest.raises(CorruptStreamError):
            READERS[name](stream)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4096 / 3 * len(stream) + 100_000


@pytest.mark.parametrize(
    "original", ORIGINALS[:5], ids=["empty", "bytes", "array", "0-d", "tensor"]
)
def test_every_bit_of_the_preamble_may_lie(original):
    """With the checksum that the lie should have; what is restored then is as long as it says."""
    end = 25 + original[24] + 8 * original[7]
    refused = 0
    for bit in [*range(8 * 16), *range(8 * 24, 8 * end)]:
        lie = bytearray(original)
        lie[bit // 8] ^= 1 << bit % 8
        stream = sealed(bytes(lie))
        try:
            restored = planezip.decompress(stream)
        except CorruptStreamError:
            refused += 1
            with pytest.raises(CorruptStreamError):
                describe(stream)
            continue
        told = describe(stream)
        assert planezip.compress(restored, told.codec, told.symbol_bits)[:8] == stream[:8]
        assert int.from_bytes(stream[8:16], "little") == told.byte_length
    assert refused > 100

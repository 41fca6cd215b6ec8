"""Forged chunks are refused or decoded, as the reference does; nothing crashes."""

import struct

import numpy as np
import pytest
import torch

import planezip
from forging import CHECKSUM, forged, refused, sealed
from planezip import CorruptStreamError
from planezip.codec import CODECS, describe, reference

HEADERS = {
    "a size of 0": (b"\0\0", 128, "size is impossible"),
    "a size above raw": (b"\x81\0" + bytes(129), 128, "size is impossible"),
    "a header cut off": (b"\x80", 128, "ends before"),
    "a payload cut off": (b"\x80\0" + bytes(127), 128, "ends inside"),
    "bytes behind": (b"\x80\0" + bytes(129), 128, "behind the last chunk"),
    "chunks for empty contents": (b"\x80\0" + bytes(128), 0, "behind the last chunk"),
    "padding of the last block": (b"\x80\0" + bytes(127) + b"\1", 127, "padding of the last block"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_chunks_that_no_writer_makes_are_refused(name):
    chunks, length, why = HEADERS[name]
    refused(forged(chunks, length), why)
    with pytest.raises(CorruptStreamError):
        reference.decode(chunks, "planezip", 16, length)


PAYLOADS = {
    "reserved tag 5": ("planezip", "101", "reserved tag"),
    "reserved tag 7": ("planezip", "111", "reserved tag"),
    "reserved bdi tag": ("bdi", "1001", "reserved tag"),
    "run past the last plane": ("bx", "1 1" + "0" * 63 + "1 01 1111", "past the last plane"),
    "block past the end": ("planezip", "000" + "1" * 300, "past the end"),
    "bytes behind the last block": ("bdi", "1000" + "0" * 12, "bytes behind its last block"),
    "padding that is not zero": ("bdi", "1000 0001", "padding of a chunk"),
}


@pytest.mark.parametrize("name", PAYLOADS)
def test_payloads_that_no_writer_makes_are_refused(name):
    codec, text, why = PAYLOADS[name]
    bits = text.replace(" ", "")
    payload = int(bits[::-1], 2).to_bytes((len(bits) + 7) // 8, "little")
    chunks = struct.pack("<H", len(payload)) + payload
    with pytest.raises(CorruptStreamError, match=why):
        reference.decode(chunks, codec, 16, 128)
    refused(forged(chunks, 128, codec), why)


def damaged(stream: bytes, rng: np.random.Generator) -> bytes:
    """One to four bytes overwritten, removed or put in."""
    out = bytearray(stream)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(0, len(out)))
        kind = rng.integers(0, 4)
        if kind == 0:
            out[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            out[at] = int(rng.integers(0, 256))
        elif kind == 2 and len(out) > 1:
            del out[at]
        else:
            out.insert(at, int(rng.integers(0, 256)))
    return bytes(out)


def outcome(read, *arguments):
    """What `read` returns; None if it refuses."""
    try:
        return read(*arguments)
    except CorruptStreamError:
        return None


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("symbol_bits", [16, 32])
def test_forged_chunks_are_read_as_the_reference_reads_them(codec, symbol_bits, synthetic_blocks):
    rng = np.random.default_rng(CODECS.index(codec))
    read = 0
    for _ in range(400):
        rows = synthetic_blocks[symbol_bits][rng.integers(0, 1800, rng.integers(1, 4))]
        contents = rows.tobytes()[: rows.size - int(rng.integers(0, 3))]
        chunks = damaged(reference.encode(contents, codec, symbol_bits), rng)
        forgery = forged(chunks, len(contents), codec, symbol_bits)
        expected = outcome(reference.decode, chunks, codec, symbol_bits, len(contents))
        assert outcome(planezip.decompress, forgery) == expected
        assert (outcome(describe, forgery) is None) == (expected is None)
        read += expected is not None
    assert 0 < read < 400


def test_random_payloads_are_read_as_the_reference_reads_them():
    rng = np.random.default_rng(9)
    for _ in range(1500):
        codec, symbol_bits = CODECS[rng.integers(6)], int(rng.choice([16, 32]))
        sparse = rng.integers(0, 256, rng.integers(1, 128)) & rng.integers(0, 256)
        payload = sparse.astype(np.uint8).tobytes()
        chunks = struct.pack("<H", len(payload)) + payload
        expected = outcome(reference.decode, chunks, codec, symbol_bits, 128)
        assert outcome(planezip.decompress, forged(chunks, 128, codec, symbol_bits)) == expected


def test_forged_streams_with_any_damage_at_all_never_crash():
    rng = np.random.default_rng(10)
    originals = [
        planezip.compress(bytes(range(9)) * 70),
        planezip.compress(np.arange(60.0).reshape(3, 4, 5)),
        planezip.compress(torch.arange(40).bfloat16().reshape(4, 10)),
    ]
    for _ in range(3000):
        forgery = sealed(damaged(originals[rng.integers(3)], rng).ljust(CHECKSUM.stop, b"\0"))
        try:
            planezip.decompress(forgery)
        except CorruptStreamError:
            continue


def test_a_fault_in_any_threads_share_is_reported(synthetic_blocks):
    contents = np.tile(synthetic_blocks[16][:64], (20, 1)).tobytes()
    stream = planezip.compress(contents, threads=1)
    at = len(stream) - 700
    forgery = sealed(stream[:at] + bytes(byte ^ 0xFF for byte in stream[at:]))
    for threads in (1, 2, 5, 40):
        with pytest.raises(CorruptStreamError):
            planezip.decompress(forgery, threads=threads)

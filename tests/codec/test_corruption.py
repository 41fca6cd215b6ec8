"""Damage is always noticed; forged streams are refused or decoded, as the reference does."""

import struct

import numpy as np
import pytest
import torch
import xxhash

import planezip
from planezip import CorruptStreamError, InputError
from planezip.codec import CODECS, describe, reference

CHECKSUM = slice(16, 24)
PREAMBLE_BYTES = 25  # of a stream of bytes, with neither element type nor dimensions


def sealed(stream: bytes) -> bytes:
    """The stream with the checksum that it should have."""
    digest = xxhash.xxh3_64(stream[: CHECKSUM.start] + stream[CHECKSUM.stop :]).intdigest()
    return stream[: CHECKSUM.start] + struct.pack("<Q", digest) + stream[CHECKSUM.stop :]


def forged(chunks: bytes, length: int, codec: str = "planezip", symbol_bits: int = 16) -> bytes:
    """A stream of bytes with these chunks."""
    head = struct.pack("<4s4BQQB", b"PLZ\x01", CODECS.index(codec), symbol_bits, 0, 0, length, 0, 0)
    return sealed(head + chunks)


def refused(stream: bytes, why: str | None = None) -> None:
    for read in (planezip.decompress, describe):
        with pytest.raises(CorruptStreamError, match=why):
            read(stream)


def small_contents() -> bytes:
    values = np.arange(150, dtype=np.float32) % 11 * (np.arange(150) % 3 > 0)
    return values.tobytes()[:-1]


@pytest.mark.parametrize("codec", CODECS)
def test_every_single_bit_flip_is_noticed(codec):
    stream = planezip.compress(small_contents(), codec)
    for bit in range(8 * len(stream)):
        damaged = bytearray(stream)
        damaged[bit // 8] ^= 1 << bit % 8
        refused(bytes(damaged))


@pytest.mark.parametrize(
    "contents", [small_contents(), b"", np.ones((2, 3)), torch.ones(4).bfloat16()], ids=type
)
def test_every_truncation_and_extension_is_noticed(contents):
    stream = planezip.compress(contents)
    for length in range(len(stream)):
        refused(stream[:length])
    for behind in (b"\0", b"\1", stream):
        refused(stream + behind)


def test_out_is_untouched_by_a_damaged_stream():
    stream = bytearray(planezip.compress(small_contents()))
    stream[-1] ^= 1
    out = bytearray(b"x" * 599)
    with pytest.raises(CorruptStreamError):
        planezip.decompress(stream, out=out)
    assert out == b"x" * 599


@pytest.mark.parametrize("junk", [b"", b"P", b"PLZ", b"\x89PNG" + bytes(60), bytes(200)])
def test_what_is_no_stream_is_refused(junk):
    refused(junk, "not a PlaneZip stream|inside its preamble")


def test_other_versions_are_refused_by_number():
    stream = bytearray(planezip.compress(b"abc"))
    stream[3] = 2
    refused(sealed(bytes(stream)), "version 2")


@pytest.mark.parametrize(
    ("offset", "values"),
    [(4, (6, 255)), (5, (0, 8, 17, 64)), (6, (3, 255))],
    ids=["codec", "symbol width", "kind"],
)
def test_reserved_values_in_the_preamble_are_refused(offset, values):
    for value in values:
        stream = bytearray(planezip.compress(b"abc"))
        stream[offset] = value
        refused(sealed(bytes(stream)), "reserved")


def head(kind: int, dtype: bytes, shape: tuple[int, ...], length: int) -> bytes:
    """A forged preamble of contents that would have no chunks, or the wrong ones."""
    fixed = struct.pack("<4s4BQQ", b"PLZ\x01", 5, 32, kind, len(shape), length, 0)
    return sealed(fixed + bytes([len(dtype)]) + dtype + struct.pack(f"<{len(shape)}Q", *shape))


BAD_CONTENTS = {
    "bytes with dimensions": (0, b"", (0,), 0),
    "bytes with an element type": (0, b"<f4", (), 0),
    "wrong length": (1, b"<f4", (3,), 0),
    "wrapping product": (1, b"<f4", (1 << 62,), 0),
    "huge dimension beside an empty one": (1, b"<f4", (0, 1 << 63), 0),
    "impossible shape": (1, b"<f4", (0, 1 << 62), 0),
    "too many dimensions": (1, b"<f4", (0,) * 65, 0),
    "unknown element type": (1, b"<f5", (0,), 0),
    "no element type": (1, b"", (0,), 0),
    "pointers": (1, b"|O", (0,), 0),
    "not ASCII": (1, b"\xff", (0,), 0),
    "structure": (1, b"i4,i4", (0,), 0),
    "subarray": (1, b"(2,)<f4", (0,), 0),
    "alias of an element type": (1, b"float32", (0,), 0),
    "unheard-of unit": (1, b"<M8[xx]", (0,), 0),
    "enormous element": (1, b"|V999999999", (0, 1 << 40), 0),
    "unknown torch type": (2, b"float31", (0,), 0),
    "torch attribute": (2, b"nn", (0,), 0),
    "torch wrong length": (2, b"bfloat16", (3,), 8),
    "torch impossible shape": (2, b"float32", (0, 1 << 62, 1 << 62), 0),
    "torch huge dimension": (2, b"float32", (0, 1 << 63), 0),
}


@pytest.mark.parametrize("name", BAD_CONTENTS)
def test_preambles_that_contradict_themselves_are_refused(name):
    refused(head(*BAD_CONTENTS[name]))


def test_quantized_element_types_are_refused():
    refused(head(2, b"quint8", (4,), 4))


def test_no_more_memory_is_asked_for_than_the_headers_justify():
    for length in (1 << 40, 1 << 62, (1 << 64) - 1, 4097):
        refused(forged(b"\x24\x00" + bytes(36), length))
        with pytest.raises(CorruptStreamError):
            planezip.decompress(head(1, b"|u1", (length,), length))


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
        planezip.compress(small_contents()),
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


def test_corrupt_streams_are_not_input_errors():
    assert not issubclass(CorruptStreamError, InputError)

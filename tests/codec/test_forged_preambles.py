"""Preambles that no writer makes are refused, before memory is asked for."""

import struct

import pytest

import planezip
from forging import forged, refused, sealed
from planezip import CorruptStreamError


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
    zeros = b"\x02\x00\xd3\x03"  # one block: tag 3, a run of 32 planes
    for dtype in (b"uint8", b"quint8"):
        stream = sealed(head(2, dtype, (4,), 4) + zeros)
        if dtype == b"uint8":
            assert planezip.decompress(stream).tolist() == [0, 0, 0, 0]
        else:
            refused(stream, "unknown element type")


def test_no_more_memory_is_asked_for_than_the_headers_justify():
    for length in (1 << 40, 1 << 62, (1 << 64) - 1, 4097):
        refused(forged(b"\x24\x00" + bytes(36), length))
        with pytest.raises(CorruptStreamError):
            planezip.decompress(head(1, b"|u1", (length,), length))

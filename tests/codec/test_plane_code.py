"""Every rule of the plane code, bit by bit, and every code that must be refused."""

import pytest

from planezip import CorruptStreamError
from planezip.codec.reference.bits import BitReader, BitWriter
from planezip.codec.reference.plane_code import field_bits, read_planes, write_planes
from planezip.codec.reference.planes import from_planes, to_planes


def printed(planes_from_top: list[str]) -> str:
    """The bits that planes (bit 0 first, top plane first) are written as, in writing order."""
    width = len(planes_from_top[0])
    out = BitWriter()
    write_planes(out, [int(plane[::-1], 2) for plane in reversed(planes_from_top)], width)
    return f"{out.value:0{out.count}b}"[::-1]


def bits(text: str) -> BitReader:
    """A reader of these bits and zeros behind them."""
    return BitReader(int(text.replace(" ", "")[::-1], 2).to_bytes(40, "little"))


RULES = {
    "one zero plane": (["1010", "1010", "0110"], "1 1010", "001", "00010 00"),
    "a run of two": (["0000", "0000", "0101"], "01 0", "1 0101"),
    "the longest run": (["0000"] * 16, "01 0111"),
    "two runs": (["00", "00", "11", "11", "11"], "01 00", "00000", "01 00"),
    "all ones beats pre-XOR zero": (["1111", "0000", "1010"], "00000", "00000", "1 1010"),
    "pre-XOR zero": (["1010", "0000", "0110"], "1 1010", "00001", "00010 10"),
    "pre-XOR zero beats a single one": (["0010", "0000", "0101"], "00011 01", "00001", "1 0101"),
    "a single one": (["0001", "0110", "1010"], "00011 11", "1 0111", "00010 00"),
    "two adjacent ones": (["0110", "0101", "1010"], "00010 10", "00010 01", "00000"),
    "two ones apart": (["1001", "0011", "0110"], "1 1001", "1 1010", "1 0101"),
    "position fields of a width that is no power of two": (
        ["000010", "000000", "000011"],
        "00011 001",
        "00001",
        "00010 001",
    ),
    "a plane of one bit": (["1", "1", "0"], "00000", "001", "00000"),
    "a plane of two bits": (["01", "10", "11"], "00011 1", "00000", "00011 1"),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_writes_its_printed_code(rule):
    planes, *codes = RULES[rule]
    expected = "".join(codes).replace(" ", "")
    assert printed(planes) == expected
    assert read_planes(bits(expected + "0"), len(planes), len(planes[0])) == [
        int(plane[::-1], 2) for plane in reversed(planes)
    ]


@pytest.mark.parametrize(("values", "field"), [(1, 0), (2, 1), (3, 2), (4, 2), (31, 5), (33, 6)])
def test_field_width_is_the_ceiling_of_the_logarithm(values, field):
    assert field_bits(values) == field


def test_run_code_takes_6_bits_at_16_planes_and_7_at_32():
    for w, size in ((16, 6), (32, 7)):
        for planes in (w, w + 1):
            assert len(printed(["0" * 8] * planes)) == size


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("1 1000 1 0001 01 0000", "past the last plane"),
        ("00011 1 0 1", "outside its plane"),  # single at 5 of 5
        ("00010 001", "outside its plane"),  # pair at 4 and 5 of 5
    ],
)
def test_codes_that_leave_their_plane_are_refused(code, why):
    with pytest.raises(CorruptStreamError, match=why):
        read_planes(bits(code), 3, 4 if "past" in why else 5)


def test_planes_that_end_early_are_refused():
    with pytest.raises(CorruptStreamError, match="past the end"):
        read_planes(BitReader(b"\x01"), 16, 64)


def test_planes_are_a_transposition():
    numbers = [0b1100, 0b0101, 0b1111]
    assert to_planes(numbers, 4) == [0b110, 0b100, 0b111, 0b101]
    assert from_planes(to_planes(numbers, 4), 3) == numbers
    assert to_planes([-1, 1, -8], 4) == [0b011, 0b001, 0b001, 0b101]

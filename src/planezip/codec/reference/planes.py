"""Bit-planes: plane b of some numbers has bit b of number j as its bit j."""

from collections.abc import Sequence


def to_planes(numbers: Sequence[int], count: int) -> list[int]:
    """The planes 0 ... count - 1 of two's-complement numbers; plane b is element b."""
    return [sum((number >> b & 1) << j for j, number in enumerate(numbers)) for b in range(count)]


def from_planes(planes: Sequence[int], width: int) -> list[int]:
    """The `width` unsigned numbers that have these planes."""
    return [sum((plane >> j & 1) << b for b, plane in enumerate(planes)) for j in range(width)]

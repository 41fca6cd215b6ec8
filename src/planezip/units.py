"""Units: decimal gigabytes as in the paper's tables, and sizes as people write them."""

import re
from decimal import Decimal

from planezip.errors import InputError

GB = 1_000_000_000
MIB = 1 << 20
MOST_BYTES = (1 << 63) - 1
"""No size is larger, so that 64-bit integers hold all of them."""

_FACTORS: dict[str, int] = {
    "": 1,
    "b": 1,
    **{f"{p}b": 1000 ** (i + 1) for i, p in enumerate("kmgt")},
    **{f"{p}ib": 1024 ** (i + 1) for i, p in enumerate("kmgt")},
}


def parse_bytes(text: str) -> int:
    """Read '2GiB', '500 MB' or '4096' as a number of bytes; InputError if it is none of these."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    factor = _FACTORS.get(match.group(2).lower()) if match else None
    if match is None or factor is None:
        raise InputError(f"{text!r} is not a size; write for example 2GiB, 500MB or 4096")
    count = Decimal(match.group(1)) * factor
    if count > MOST_BYTES:
        raise InputError(f"{text!r} is larger than any size can be; write for example 2GiB")
    return round(count)


def format_bytes(count: float) -> str:
    """Write a number of bytes for people, in decimal units: 11.0 GB."""
    factor, unit = byte_unit(count)
    return f"{count / factor:.{0 if factor == 1 else 1}f} {unit}"


def byte_unit(count: float) -> tuple[int, str]:
    """The largest decimal unit that is not larger than so many bytes: its bytes and its name."""
    for factor, unit in ((GB, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if abs(count) >= factor:
            return factor, unit
    return 1, "B"


def counted(count: int, noun: str) -> str:
    """Write how many there are of something: 1 file, 2 files."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

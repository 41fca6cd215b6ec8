"""Inputs to begin with: contents that reach every encoding, and their streams.

usage: python3 fuzz/seeds.py decode|roundtrip FOLDER

Needs nothing but the standard library; streams are taken from tests/golden.
"""

import random
import struct
import sys
from pathlib import Path

GOLDEN = Path(__file__).parent.parent / "tests" / "golden"


def contents() -> list[bytes]:
    """Dense, sparse, smooth, repeated and random bytes of odd lengths."""
    rng = random.Random(0)
    floats = [rng.gauss(0, 1) for _ in range(300)]
    relu = [max(value, 0.0) for value in floats]
    return [
        b"",
        b"\x01",
        bytes(4097),
        struct.pack("<300f", *floats),
        struct.pack("<300e", *floats)[:-1],
        struct.pack("<300f", *relu),
        struct.pack("<300e", *relu),
        b"".join(struct.pack("<I", 70_000 + 3 * i) for i in range(200)),
        rng.randbytes(8) * 70,
        rng.randbytes(4500),
    ]


def roundtrip_seeds() -> list[bytes]:
    return [
        bytes((codec, width)) + data for data in contents() for codec in (1, 5) for width in (0, 3)
    ]


def decode_seeds() -> list[bytes]:
    """The chunk streams of the golden streams, behind the options that decode.cpp reads."""
    seeds = []
    for path in sorted(GOLDEN.glob("*.pz")):
        stream = path.read_bytes()
        codec, width, _, dimensions, length = struct.unpack_from("<4BQ", stream, 4)
        start = 25 + stream[24] + 8 * dimensions
        seeds.append(bytes((codec, width == 16)) + struct.pack("<Q", length)[:3] + stream[start:])
    return seeds


if __name__ == "__main__":
    target, folder = sys.argv[1], Path(sys.argv[2])
    seeds = {"decode": decode_seeds, "roundtrip": roundtrip_seeds}[target]()
    for number, seed in enumerate(seeds):
        (folder / f"seed-{number}").write_bytes(seed)

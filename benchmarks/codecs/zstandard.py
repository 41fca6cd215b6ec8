"""Zstandard, which knows no element size: as it is, and behind a split of bytes by NumPy."""

from functools import partial

from benchmarks.codecs.coder import Coder, Settings, Values, byte_split
from zstandard import ZstdCompressor, ZstdDecompressor


def _plain(_like: Values, level: int) -> Coder:
    return Coder(ZstdCompressor(level=level).compress, ZstdDecompressor().decompress)


SETTINGS: Settings = {
    "level 1": partial(_plain, level=1),
    "level 3": partial(_plain, level=3),
    "level 1, split": lambda like: byte_split(_plain(like, level=1), like.itemsize),
    "level 3, split": lambda like: byte_split(_plain(like, level=3), like.itemsize),
}

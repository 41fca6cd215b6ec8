"""LZ4 blocks; LZ4 knows no element size: as it is, and behind a split of bytes by NumPy."""

from benchmarks.codecs.coder import Coder, Settings, byte_split
from lz4 import block

_PLAIN = Coder(block.compress, block.decompress)

SETTINGS: Settings = {
    "default": lambda _like: _PLAIN,
    "split": lambda like: byte_split(_PLAIN, like.itemsize),
}

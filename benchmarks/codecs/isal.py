"""DEFLATE by ISA-L, which knows no element size: as it is, and behind a split by NumPy.

Level 1: higher ones are slower and gain nothing on such contents, level 0 loses much.
"""

from functools import partial

from benchmarks.codecs.coder import Coder, Settings, byte_split
from isal import igzip_lib

_PLAIN = Coder(partial(igzip_lib.compress, level=1), igzip_lib.decompress)

SETTINGS: Settings = {
    "level 1": lambda _like: _PLAIN,
    "level 1, split": lambda like: byte_split(_PLAIN, like.itemsize),
}

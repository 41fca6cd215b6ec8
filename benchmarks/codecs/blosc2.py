"""Blosc2, told the element size: byte and bit shuffle, each before LZ4 and Zstandard.

LZ4 at level 9, which costs little speed; Zstandard at level 1: higher ones are many times slower.
"""

from functools import partial

import blosc2
import numpy as np
from benchmarks.codecs.coder import Coder, Settings, Values


def _coder(like: Values, codec: blosc2.Codec, level: int, shuffle: blosc2.Filter) -> Coder:
    how = blosc2.CParams(
        codec=codec, clevel=level, typesize=like.itemsize, nthreads=1, filters=[shuffle]
    )
    back = blosc2.DParams(nthreads=1)
    values = np.empty_like(like)

    def decode(stream: bytes) -> Values:
        blosc2.decompress2(stream, dst=values, dparams=back)
        return values

    return Coder(lambda values: blosc2.compress2(values, cparams=how), decode)


SETTINGS: Settings = {
    f"{name}, {shuffle.name.lower()}": partial(_coder, codec=codec, level=level, shuffle=shuffle)
    for name, codec, level in (("lz4", blosc2.Codec.LZ4, 9), ("zstd", blosc2.Codec.ZSTD, 1))
    for shuffle in (blosc2.Filter.SHUFFLE, blosc2.Filter.BITSHUFFLE)
}

"""PlaneZip into memory of the caller; BF16 in symbols of 16 bits, FP32 of 32."""

import numpy as np
from benchmarks.codecs.coder import Coder, Settings, Values

from planezip.codec import compress, compress_bound, decompress


def _coder(like: Values) -> Coder:
    stream = np.empty(compress_bound(like.nbytes), np.uint8)
    values = np.empty_like(like)
    bits = 8 * like.itemsize

    def encode(values: Values) -> Values:
        return stream[: compress(values, symbol_bits=bits, threads=1, out=stream)]

    return Coder(encode, lambda s: decompress(s, out=values, threads=1))


SETTINGS: Settings = {"planezip": _coder}

"""The native engine's encoder with memory to write to."""

import numpy as np
from numpy.typing import NDArray

from planezip import _native

Bytes = NDArray[np.uint8]


def encode(flat: Bytes, codec: int, symbol_bits: int, threads: int) -> Bytes:
    """The chunk stream of flat bytes under the codec of that number.

    NumPy allocates the scratch memory because it asks for huge pages; faulting small ones in takes
    long beside the encoding.
    """
    scratch = np.empty(_native.encode_bound(flat.nbytes, threads), np.uint8)
    return scratch[: _native.encode(flat, codec, symbol_bits, threads, scratch)]

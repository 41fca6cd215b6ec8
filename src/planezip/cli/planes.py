"""Bit planes as pictures of characters."""

import numpy as np
from numpy.typing import NDArray

from planezip.codec import StreamView
from planezip.codec.format import BLOCK_BYTES, CHUNK_BYTES
from planezip.report.grid import Grid

Bits = NDArray[np.uint8]  # (planes from the top down, symbols)

_SHADES = "·░▒▓█"
_SAMPLED_CHUNKS = 16
_COLUMNS = 64


def sampled_planes(view: StreamView, symbol_bits: int) -> Bits:
    """Bit planes of chunks that are spread evenly over the contents, (symbol_bits, symbols)."""
    last = max(view.byte_length - CHUNK_BYTES, 0) // CHUNK_BYTES
    starts = sorted({i * last // (_SAMPLED_CHUNKS - 1) for i in range(_SAMPLED_CHUNKS)})
    ends = [(start + 1) * CHUNK_BYTES for start in starts]
    parts = [view.bytes(end - CHUNK_BYTES, min(end, view.byte_length)) for end in ends]
    data = b"".join(parts)
    data += bytes(-len(data) % BLOCK_BYTES)
    symbols = np.frombuffer(data, f"<u{symbol_bits // 8}")
    weights = np.arange(symbol_bits - 1, -1, -1, dtype=symbols.dtype)
    return (symbols >> weights[:, None] & 1).astype(np.uint8)


def strip(planes: Bits) -> str:
    """One character a plane, sign first: the darker, the more of its bits differ from the plane
    above. A plane of equal bits costs next to nothing.
    """
    if not planes.size:
        return ""
    xored = planes.copy()
    xored[1:] ^= planes[:-1]
    ones = xored.mean(axis=1)
    shades = np.ceil(np.minimum(ones, 0.5) * 2 * (len(_SHADES) - 1)).astype(int)
    return "".join(_SHADES[shade] for shade in shades)


def picture(title: str, planes: Bits) -> Grid:
    """The planes of 64 neighbouring symbols from the middle, a line each, sign first."""
    middle = max(planes.shape[1] // 2 - _COLUMNS // 2, 0)
    shown = planes[:, middle : middle + _COLUMNS]
    ones = planes.mean(axis=1) if planes.size else np.zeros(len(planes))
    rows = [
        (str(len(planes) - 1 - i), "".join("·█"[bit] for bit in plane), f"{ones[i]:.0%}")
        for i, plane in enumerate(shown)
    ]
    note = f"{shown.shape[1]} neighbouring symbols; the last column counts all that were sampled"
    return Grid(f"Bit planes of {title}", ("bit", "", "ones"), rows, words=2, note=note)

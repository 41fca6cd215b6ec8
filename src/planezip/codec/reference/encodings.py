"""The four encodings of a block of N symbols of w bits: ZVC, DBX, BX and ZBX (paper III-A)."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from planezip.codec.format import BLOCK_BITS
from planezip.codec.reference.bits import BitReader, BitWriter
from planezip.codec.reference.plane_code import read_planes, write_planes
from planezip.codec.reference.planes import from_planes, to_planes


def write_raw(out: BitWriter, symbols: Sequence[int], w: int) -> None:
    """All symbols verbatim."""
    for symbol in symbols:
        out.number(symbol, w)


def read_raw(source: BitReader, w: int) -> list[int]:
    return [source.number(w) for _ in range(BLOCK_BITS // w)]


def write_zvc(out: BitWriter, symbols: Sequence[int], w: int) -> None:
    """The mask of non-zero symbols, then those symbols."""
    out.number(_mask(symbols), len(symbols))
    write_raw(out, _survivors(symbols), w)


def read_zvc(source: BitReader, w: int) -> list[int]:
    mask = source.number(BLOCK_BITS // w)
    return _expand(mask, [source.number(w) for _ in range(mask.bit_count())], w)


def write_dbx(out: BitWriter, symbols: Sequence[int], w: int) -> None:
    """The first symbol, then the w + 1 planes of the differences between neighbours."""
    deltas = [right - left for left, right in pairwise(symbols)]
    out.number(symbols[0], w)
    write_planes(out, to_planes(deltas, w + 1), len(deltas))


def read_dbx(source: BitReader, w: int) -> list[int]:
    symbols = [source.number(w)]
    deltas = BLOCK_BITS // w - 1
    for delta in from_planes(read_planes(source, w + 1, deltas), deltas):
        symbols.append((symbols[-1] + delta) % (1 << w))
    return symbols


def write_bx(out: BitWriter, symbols: Sequence[int], w: int) -> None:
    """The w planes of the symbols."""
    write_planes(out, to_planes(symbols, w), len(symbols))


def read_bx(source: BitReader, w: int) -> list[int]:
    return _read_bx(source, BLOCK_BITS // w, w)


def write_zbx(out: BitWriter, symbols: Sequence[int], w: int) -> None:
    """The mask of non-zero symbols, then the w planes of those symbols, if there are any."""
    survivors = _survivors(symbols)
    out.number(_mask(symbols), len(symbols))
    if survivors:
        write_bx(out, survivors, w)


def read_zbx(source: BitReader, w: int) -> list[int]:
    mask = source.number(BLOCK_BITS // w)
    survivors = _read_bx(source, mask.bit_count(), w) if mask else []
    return _expand(mask, survivors, w)


def _read_bx(source: BitReader, width: int, w: int) -> list[int]:
    return from_planes(read_planes(source, w, width), width)


def _mask(symbols: Sequence[int]) -> int:
    return sum((symbol != 0) << j for j, symbol in enumerate(symbols))


def _survivors(symbols: Sequence[int]) -> list[int]:
    return [symbol for symbol in symbols if symbol != 0]


def _expand(mask: int, survivors: list[int], w: int) -> list[int]:
    rest = iter(survivors)
    return [next(rest) if mask >> j & 1 else 0 for j in range(BLOCK_BITS // w)]


WRITERS: Final[dict[str, Callable[[BitWriter, Sequence[int], int], None]]] = {
    "raw": write_raw,
    "zvc": write_zvc,
    "dbx": write_dbx,
    "bx": write_bx,
    "zbx": write_zbx,
}
READERS: Final[dict[str, Callable[[BitReader, int], list[int]]]] = {
    "raw": read_raw,
    "zvc": read_zvc,
    "dbx": read_dbx,
    "bx": read_bx,
    "zbx": read_zbx,
}

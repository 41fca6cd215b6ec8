"""Compressed sizes computed for many blocks at once, without writing a bit.

The vectorised counterpart of `reference` (paper III-A, "Validation"): bit counts only.
"""

import numpy as np
from numpy.typing import NDArray

from planezip.codec.format import (
    BDI_FORMS,
    BLOCK_BITS,
    BLOCK_BYTES,
    CHUNK_BLOCKS,
    CODECS,
    ENCODERS,
    HEADER_BYTES,
    SINGLE_ENCODING,
    SymbolBits,
    tag_bits,
)

Blocks = NDArray[np.uint8]  # (blocks, 128)
Bits = NDArray[np.int64]  # (blocks,)
Planes = NDArray[np.bool_]  # (blocks, planes from the top down, bits)

_BATCH = 4096


def wire_sizes(data: NDArray[np.uint8], symbol_bits: SymbolBits) -> dict[str, int]:
    """Codec -> bytes of the chunk stream of `data`: tags, headers and padding in."""
    blocks = np.zeros((-(-data.size // BLOCK_BYTES), BLOCK_BYTES), np.uint8)
    blocks.reshape(-1)[: data.size] = data
    sizes: dict[str, int] = dict.fromkeys(CODECS, 0)
    for start in range(0, len(blocks), _BATCH):
        for codec, bits in codec_bits(blocks[start : start + _BATCH], symbol_bits).items():
            sizes[codec] += _stream_bytes(bits)
    return sizes


def _stream_bytes(bits: Bits) -> int:
    """Bytes of the chunks of blocks that take so many bits each."""
    starts = np.arange(0, len(bits), CHUNK_BLOCKS)
    raw = np.add.reduceat(np.full(len(bits), BLOCK_BYTES), starts)
    encoded = -(-np.add.reduceat(bits, starts) // 8)
    return int(np.sum(HEADER_BYTES + np.minimum(raw, encoded)))


def codec_bits(blocks: Blocks, symbol_bits: SymbolBits) -> dict[str, Bits]:
    """Codec -> bits of each block, tag included."""
    encodings = encoding_bits(blocks, symbol_bits)
    smallest = {
        codec: np.minimum(encodings["raw"], encodings[encoding])
        for codec, encoding in SINGLE_ENCODING.items()
    }
    smallest["planezip"] = np.min([encodings[encoder] for encoder in ENCODERS], axis=0)
    smallest["bdi"] = bdi_bits(blocks)
    return {codec: tag_bits(codec) + smallest[codec] for codec in CODECS}


def encoding_bits(blocks: Blocks, symbol_bits: SymbolBits) -> dict[str, Bits]:
    """Encoding -> bits of each block, tag excluded."""
    symbols = blocks.view(f"<u{symbol_bits // 8}").astype(np.int64)
    count = symbols.shape[1]
    survivors = np.count_nonzero(symbols, axis=1)
    every = np.full(len(blocks), count)
    return {
        "raw": np.full(len(blocks), BLOCK_BITS),
        "zvc": count + survivors * symbol_bits,
        "dbx": symbol_bits
        + plane_bits(_planes(np.diff(symbols, axis=1), symbol_bits + 1), every - 1),
        "bx": plane_bits(_planes(symbols, symbol_bits), every),
        "zbx": count
        + np.where(survivors, plane_bits(_planes(_compact(symbols), symbol_bits), survivors), 0),
    }


def _compact(symbols: NDArray[np.int64]) -> NDArray[np.int64]:
    """The non-zero symbols of each block in front, zeros behind."""
    order = np.argsort(symbols == 0, axis=1, kind="stable")
    return np.take_along_axis(symbols, order, axis=1)


def _planes(numbers: NDArray[np.int64], count: int) -> Planes:
    """Bits of two's-complement numbers, plane by plane."""
    weights = np.arange(count - 1, -1, -1)
    return (numbers[:, None, :] >> weights[:, None] & 1).astype(bool)


def plane_bits(planes: Planes, widths: Bits) -> Bits:
    """Bits of the plane code of each block whose planes are `widths` bits wide, zeros beyond."""
    x = planes.copy()
    x[:, 1:] ^= planes[:, :-1]
    ones = np.count_nonzero(x, axis=2)
    width = widths[:, None]
    position = np.ceil(np.log2(np.maximum(width, 1))).astype(np.int64)
    adjacent = (x[:, :, 1:] & x[:, :, :-1]).any(axis=2)
    cases = {
        "zero": (ones == 0, 0),  # counted by runs below
        "ones": (ones == width, 5),
        "pre-XOR zero": (~planes.any(axis=2), 5),
        "one or two adjacent": ((ones == 1) | ((ones == 2) & adjacent), 5 + position),
    }
    conditions, costs = zip(*cases.values(), strict=True)
    shape = ones.shape
    bits = np.select(conditions, [np.broadcast_to(c, shape) for c in costs], 1 + width)
    total: Bits = bits.sum(axis=1) + _zero_run_bits(ones == 0)
    return total


def _zero_run_bits(zero: NDArray[np.bool_]) -> Bits:
    """Bits of the codes for all-zero planes: one code for each run of them."""
    around = np.pad(zero, ((0, 0), (1, 1)))
    starts = zero & ~around[:, :-2]
    alone = starts & ~around[:, 2:]
    run_code = 2 + int(np.ceil(np.log2(zero.shape[1] - 1)))
    runs = np.count_nonzero(starts, axis=1)
    singles = np.count_nonzero(alone, axis=1)
    total: Bits = 3 * singles + run_code * (runs - singles)
    return total


def bdi_bits(blocks: Blocks) -> Bits:
    """Bits of each block in its smallest BDI form, tag excluded."""
    words = blocks.view("<u8")
    bits = np.full(len(blocks), BLOCK_BITS)
    for base, delta in BDI_FORMS:
        size = 8 * base + BLOCK_BYTES // base * (1 + 8 * delta)
        bits = np.where(_bdi_fits(blocks.view(f"<u{base}"), delta), np.minimum(bits, size), bits)
    bits = np.where((words == words[:, :1]).all(axis=1), 64, bits)
    return np.where((words == 0).all(axis=1), 0, bits)


def _bdi_fits(elements: NDArray[np.unsignedinteger], delta_bytes: int) -> NDArray[np.bool_]:
    """Which blocks have every element near zero or near their first that is not near zero."""
    half = elements.dtype.type(1 << 8 * delta_bytes - 1)

    def near(difference: NDArray[np.unsignedinteger]) -> NDArray[np.bool_]:
        return difference + half < 2 * half  # unsigned arithmetic wraps around

    far = ~near(elements)
    base = np.take_along_axis(elements, far.argmax(axis=1)[:, None], axis=1)
    return np.asarray((~far | near(elements - base)).all(axis=1))

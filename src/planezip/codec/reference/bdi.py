"""Base-delta-immediate on 128-byte blocks, each form with an implicit second base of zero."""

from planezip.codec.format import BDI_FORMS, BDI_TAGS, BLOCK_BYTES
from planezip.codec.reference.bits import BitReader, BitWriter
from planezip.errors import CorruptStreamError

RAW, ZEROS, REPEATED, FIRST_FORM = range(4)


def candidates(block: bytes) -> dict[int, BitWriter]:
    """Tag -> bits behind it, for every tag that can express the block."""
    found = {RAW: _field(int.from_bytes(block, "little"), 8 * BLOCK_BYTES)}
    if not any(block):
        found[ZEROS] = BitWriter()
    if block == block[:8] * (BLOCK_BYTES // 8):
        found[REPEATED] = _field(int.from_bytes(block[:8], "little"), 64)
    for tag, (base_bytes, delta_bytes) in enumerate(BDI_FORMS, FIRST_FORM):
        written = _write_form(block, base_bytes, delta_bytes)
        if written is not None:
            found[tag] = written
    return found


def _field(value: int, bits: int) -> BitWriter:
    out = BitWriter()
    out.number(value, bits)
    return out


def _signed(value: int, size: int) -> int:
    """A value modulo 2 ** (8 * size) as a two's-complement number."""
    return (value + (1 << 8 * size - 1)) % (1 << 8 * size) - (1 << 8 * size - 1)


def _fits(difference: int, base_bytes: int, delta_bytes: int) -> bool:
    return -(1 << 8 * delta_bytes - 1) <= _signed(difference, base_bytes) < 1 << 8 * delta_bytes - 1


def _write_form(block: bytes, base_bytes: int, delta_bytes: int) -> BitWriter | None:
    """Base, mask and deltas; None if an element is far from both bases."""
    elements = [
        int.from_bytes(block[i : i + base_bytes], "little")
        for i in range(0, BLOCK_BYTES, base_bytes)
    ]
    based = [not _fits(element, base_bytes, delta_bytes) for element in elements]
    base = elements[based.index(True)] if any(based) else 0
    deltas = [e - base if far else e for e, far in zip(elements, based, strict=True)]
    if not all(_fits(delta, base_bytes, delta_bytes) for delta in deltas):
        return None
    out = _field(base, 8 * base_bytes)
    for far in based:
        out.number(far, 1)
    for delta in deltas:
        out.number(delta, 8 * delta_bytes)
    return out


def read_block(source: BitReader, tag: int) -> bytes:
    """The block behind a tag; CorruptStreamError if the tag is reserved."""
    if tag >= len(BDI_TAGS):
        raise CorruptStreamError("a block has a reserved tag")
    if tag == RAW:
        return source.number(8 * BLOCK_BYTES).to_bytes(BLOCK_BYTES, "little")
    if tag == ZEROS:
        return bytes(BLOCK_BYTES)
    if tag == REPEATED:
        return source.number(64).to_bytes(8, "little") * (BLOCK_BYTES // 8)
    base_bytes, delta_bytes = BDI_FORMS[tag - FIRST_FORM]
    base = source.number(8 * base_bytes)
    based = [source.number(1) for _ in range(BLOCK_BYTES // base_bytes)]
    elements = [_signed(source.number(8 * delta_bytes), delta_bytes) + base * far for far in based]
    return b"".join((e % (1 << 8 * base_bytes)).to_bytes(base_bytes, "little") for e in elements)

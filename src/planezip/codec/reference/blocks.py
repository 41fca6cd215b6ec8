"""One block under one codec: a tag and what it announces."""

from planezip.codec.format import BLOCK_BYTES, tag_bits, tag_names
from planezip.codec.reference import bdi
from planezip.codec.reference.bits import BitReader, BitWriter
from planezip.codec.reference.encodings import READERS, WRITERS
from planezip.errors import CorruptStreamError


def write_block(block: bytes, codec: str, w: int) -> BitWriter:
    """Tag and content of the smallest candidate; the lowest tag of equals."""
    candidates = bdi.candidates(block) if codec == "bdi" else _encodings(block, codec, w)
    tag = min(candidates, key=lambda tag: (candidates[tag].count, tag))
    out = BitWriter()
    out.number(tag, tag_bits(codec))
    out.append(candidates[tag])
    return out


def _encodings(block: bytes, codec: str, w: int) -> dict[int, BitWriter]:
    step = w // 8
    symbols = [int.from_bytes(block[i : i + step], "little") for i in range(0, BLOCK_BYTES, step)]
    candidates = {}
    for tag, encoding in enumerate(tag_names(codec)):
        candidates[tag] = BitWriter()
        WRITERS[encoding](candidates[tag], symbols, w)
    return candidates


def read_block(source: BitReader, codec: str, w: int) -> bytes:
    """Take tag and content off; CorruptStreamError if they are not valid."""
    tag = source.number(tag_bits(codec))
    if codec == "bdi":
        return bdi.read_block(source, tag)
    names = tag_names(codec)
    if tag >= len(names):
        raise CorruptStreamError("a block has a reserved tag")
    symbols = READERS[names[tag]](source, w)
    return b"".join(symbol.to_bytes(w // 8, "little") for symbol in symbols)

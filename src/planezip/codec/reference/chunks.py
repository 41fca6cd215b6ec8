"""Chunks of up to 32 blocks, and the chunk stream of any number of bytes."""

from planezip.codec.format import BLOCK_BYTES, CHUNK_BYTES, HEADER_BYTES
from planezip.codec.reference.bits import BitReader, BitWriter
from planezip.codec.reference.blocks import read_block, write_block
from planezip.errors import CorruptStreamError


def encode(data: bytes, codec: str, symbol_bits: int) -> bytes:
    """The chunk stream of `data`."""
    padded = data + bytes(-len(data) % BLOCK_BYTES)
    return b"".join(
        write_chunk(padded[i : i + CHUNK_BYTES], codec, symbol_bits)
        for i in range(0, len(padded), CHUNK_BYTES)
    )


def decode(stream: bytes, codec: str, symbol_bits: int, byte_length: int) -> bytes:
    """The `byte_length` bytes that a chunk stream holds.

    Raises:
        CorruptStreamError: it holds more, less, or what a writer never writes.
    """
    padded_length = -(-byte_length // BLOCK_BYTES) * BLOCK_BYTES
    data = b""
    at = 0
    while len(data) < padded_length:
        raw_size = min(CHUNK_BYTES, padded_length - len(data))
        payload = read_payload(stream, at, raw_size)
        at += HEADER_BYTES + len(payload)
        data += read_chunk(payload, raw_size, codec, symbol_bits)
    if at != len(stream):
        raise CorruptStreamError("there are bytes behind the last chunk")
    if any(data[byte_length:]):
        raise CorruptStreamError("the padding of the last block is not zero")
    return data[:byte_length]


def write_chunk(raw: bytes, codec: str, symbol_bits: int) -> bytes:
    """Header and payload of whole blocks, raw if encoding would not make them smaller."""
    bits = BitWriter()
    for i in range(0, len(raw), BLOCK_BYTES):
        bits.append(write_block(raw[i : i + BLOCK_BYTES], codec, symbol_bits))
    encoded = bits.to_bytes()
    payload = encoded if len(encoded) < len(raw) else raw
    return len(payload).to_bytes(HEADER_BYTES, "little") + payload


def read_payload(stream: bytes, at: int, raw_size: int) -> bytes:
    """The payload of the chunk whose header is at `at`."""
    header = stream[at : at + HEADER_BYTES]
    size = int.from_bytes(header, "little")
    payload = stream[at + HEADER_BYTES : at + HEADER_BYTES + size]
    if len(header) < HEADER_BYTES or len(payload) < size:
        raise CorruptStreamError("the stream ends inside a chunk")
    if not 0 < size <= raw_size:
        raise CorruptStreamError("the size of a chunk is impossible")
    return payload


def read_chunk(payload: bytes, raw_size: int, codec: str, symbol_bits: int) -> bytes:
    """The whole blocks of a chunk."""
    if len(payload) == raw_size:
        return payload
    source = BitReader(payload)
    blocks = [read_block(source, codec, symbol_bits) for _ in range(raw_size // BLOCK_BYTES)]
    if source.left >= 8:
        raise CorruptStreamError("a chunk has bytes behind its last block")
    if source.value:
        raise CorruptStreamError("the padding of a chunk is not zero")
    return b"".join(blocks)

"""compress, decompress and what one wants to know before."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planezip import _native
from planezip.codec import adapter, engine, options, preamble, restore
from planezip.codec.adapter import Contents
from planezip.codec.engine import Coding
from planezip.codec.preamble import CHECKSUM, SMALL_BYTES, Checksum
from planezip.errors import InputError

Bytes = NDArray[np.uint8]


MAX_SIZE_BYTES = 1 << 62
"""Above the memory of any machine, and below where the sizes of streams would overflow."""


def compress_bound(size_bytes: int) -> int:
    """Bytes that `out` of compress() must have for any contents of `size_bytes`.

    Two bytes for every 4,096 of the contents, and the longest preamble, more than the contents:
    what does not compress is stored as it is.

    Raises:
        InputError: size_bytes is not an integer from 0 to 2^62.
    """
    size = options.at_least("size_bytes", size_bytes, 0)
    if size > MAX_SIZE_BYTES:
        raise InputError(f"size_bytes is {size_bytes}; no machine has more than {MAX_SIZE_BYTES}")
    return preamble.MAX_BYTES + _native.encode_bound(size)


def compress(
    x: Any,
    codec: str = "planezip",
    symbol_bits: int | None = None,
    threads: int | None = None,
    out: Any = None,
) -> Any:
    """Compress x losslessly into a stream that also says how to restore it (docs/format.md).

    Args:
        x: NumPy array, CPU torch tensor, bytes-like object or other object with __dlpack__, of any
            dtype, shape and strides. Structured and object arrays are not taken. x is never
            written, nor copied if it is contiguous. Of other libraries' arrays, NumPy's element
            types are restored as arrays, and others that torch knows, once it is imported, as
            tensors. x must not change meanwhile: a stream of changing contents is one of anything,
            and the system ends a process (SIGBUS) that reads a mapped file behind the end to which
            another program cut it; read such a file rather than map it.
        codec: one of `planezip.codec.CODECS` (paper III-A).
        symbol_bits: 16 or 32; None: 16 for BF16 and FP16, 32 for all else (paper III-A).
        threads: threads at most; None: as many as pay. The stream does not depend on it.
        out: where to put the stream: a writable, contiguous bytes-like object, array or CPU tensor
            of `compress_bound(bytes of x)` bytes or more. What lies behind the stream is then
            unspecified.

    Returns:
        The stream, bytes; with `out`, its size in bytes, int.

    Raises:
        InputError: an argument cannot be used.
    """
    flat, head, how = prepare(x, codec, symbol_bits, threads)
    if out is not None:
        memory = restore.output_memory(out, compress_bound(flat.nbytes))
        if np.may_share_memory(memory, flat):
            raise InputError("out shares memory with the contents; give it memory of its own")
        return _write(flat, head, how, memory)
    if flat.nbytes <= SMALL_BYTES:
        return preamble.join(head, _native.encode_bytes(flat, *how))
    builder = _native.BytesBuilder(len(head) + _native.encode_bound(flat.nbytes))
    return builder.finish(_write(flat, head, how, builder.memory()))


def prepare(
    x: Any, codec: str, symbol_bits: int | None, threads: int | None
) -> tuple[Bytes, bytes, Coding]:
    """The bytes of x, the preamble of their stream, and how to code them."""
    number = options.codec_id(codec)
    flat, contents = adapter.flatten(x)
    if symbol_bits is None and threads is None and contents.byte_length <= SMALL_BYTES:
        head, how = _small_plan(number, contents)
        return flat, head, how
    width = options.chosen_symbol_bits(symbol_bits, contents.symbol_bits)
    head = preamble.pack(number, width, contents)
    return flat, head, Coding(number, width, options.thread_count(threads, flat.nbytes))


@lru_cache(256)  # programs compress the same shapes over and over
def _small_plan(number: int, contents: Contents) -> tuple[bytes, Coding]:
    """Preamble and coding by default, which take longer to find than small contents to code."""
    width = contents.symbol_bits
    return preamble.pack(number, width, contents), Coding(number, width, 1)


def _write(flat: Bytes, head: bytes, how: Coding, memory: Bytes) -> int:
    """Put the stream into memory that is large enough; return its size."""
    if flat.nbytes <= SMALL_BYTES:
        stream = preamble.join(head, _native.encode_bytes(flat, *how))
        memory[: len(stream)] = np.frombuffer(stream, np.uint8)
        return len(stream)
    start = len(head)
    memory[:start] = np.frombuffer(head, np.uint8)
    end = start + engine.encode_into(flat, how, memory[start:])
    checksum = Checksum(head)
    checksum.update(memory[start:end])
    memory[CHECKSUM] = np.frombuffer(checksum.digest(), np.uint8)
    return end


def decompress(stream: Any, out: Any = None, threads: int | None = None) -> Any:
    """Restore what was compressed, bit for bit.

    Args:
        stream: what compress() returned, as a bytes-like object. As with compress(), it must not
            change meanwhile, nor a mapped file be cut off.
        out: where to put it: a contiguous, writable array or CPU tensor of the same dtype and
            shape, or a writable bytes-like object of the same size.
        threads: threads at most; None: as many as pay.

    Returns:
        `out`, or a new NumPy array, CPU torch tensor or bytes: whichever was compressed.

    Raises:
        CorruptStreamError: the stream is damaged, truncated, or not a PlaneZip stream.
        InputError: an argument cannot be used.
    """
    if type(stream) is bytes and len(stream) <= SMALL_BYTES and threads is None:
        return _decompress_small(stream, out)
    source = adapter.byte_view(stream, "decompress")
    contents, chunks, how = opened(source, threads)
    if out is None:
        return filled(contents, lambda flat: engine.decode(chunks, how, flat))
    flat = restore.own_contents(contents, out)
    if np.may_share_memory(flat, source):
        raise InputError("out shares memory with the stream; give it memory of its own")
    engine.decode(chunks, how, flat)
    return out


def _decompress_small(stream: bytes, out: Any) -> Any:
    """As decompress(), in fewer steps: for 4 KiB these take longer than the decoding."""
    (contents, codec, symbol_bits), start = preamble.read(stream)
    if contents.byte_length > SMALL_BYTES:
        return decompress(memoryview(stream), out)
    chunks = memoryview(stream)[start:]
    _native.check_chunks(chunks, contents.byte_length)
    if out is not None:
        flat, result = restore.own_contents(contents, out), out
    elif contents.family == "bytes":
        flat, result = np.empty(contents.byte_length, np.uint8), None
    else:
        flat, result = restore.new_contents(contents)
    _native.decode(chunks, codec, symbol_bits, 1, flat)
    return flat.tobytes() if result is None else result


def opened(
    source: Bytes, threads: int | None, verify: bool = True
) -> tuple[Contents, Bytes, Coding]:
    """What a stream holds, its chunks, and how they are coded.

    All is checked but the chunks' payloads: above all that memory may be asked for. Without
    `verify` the checksum is not.

    Raises:
        CorruptStreamError: the stream is damaged, truncated, or not a PlaneZip stream.
    """
    head, chunks = preamble.split(source, verify)
    engine.check_chunks(chunks, head.contents.byte_length)
    count = options.thread_count(threads, head.contents.byte_length)
    return head.contents, chunks, Coding(head.codec, head.symbol_bits, count)


def filled(contents: Contents, fill: Callable[[Bytes], None]) -> Any:
    """New memory for the contents, filled: bytes, an array or a tensor."""
    if contents.family != "bytes":
        flat, result = restore.new_contents(contents)
        fill(flat)
        return result
    if contents.byte_length <= SMALL_BYTES:
        flat = np.empty(contents.byte_length, np.uint8)
        fill(flat)
        return flat.tobytes()
    builder = _native.BytesBuilder(contents.byte_length)
    fill(builder.memory())
    return builder.finish(contents.byte_length)


def compressed_size(
    x: Any, codec: str = "planezip", symbol_bits: int | None = None, threads: int | None = None
) -> int:
    """Bytes of the chunk stream that compress() would write for x: tags, headers and padding in.

    The preamble, which does not grow with the contents, is not counted. Arguments and errors are
    those of compress().
    """
    number = options.codec_id(codec)
    flat, contents = adapter.flatten(x)
    width = options.chosen_symbol_bits(symbol_bits, contents.symbol_bits)
    count = options.thread_count(threads, flat.nbytes)
    _, sizes, _ = engine.measure(flat, width, 1 << number, 1, count)
    return sizes[number]

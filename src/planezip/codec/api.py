"""compress, decompress and compressed_size."""

from typing import Any

import numpy as np

from planezip import _native
from planezip.codec import adapter, engine, options, preamble, restore
from planezip.codec.format import CODECS
from planezip.errors import InputError


def compress(
    x: Any, codec: str = "planezip", symbol_bits: int | None = None, threads: int | None = None
) -> bytes:
    """Compress x losslessly into a stream that also says how to restore it (docs/format.md).

    Args:
        x: NumPy array, CPU torch tensor or bytes-like object, of any dtype, shape and strides.
            Structured and object arrays are not taken. x is never written.
        codec: one of `planezip.codec.CODECS` (paper III-A).
        symbol_bits: 16 or 32; None: 16 for BF16 and FP16, 32 for all else (paper III-A).
        threads: threads at most; None: as many as pay. The stream does not depend on it.

    Raises:
        InputError: an argument cannot be used.
    """
    chosen = options.codec_id(codec)
    flat, contents = adapter.flatten(x)
    width = options.chosen_symbol_bits(symbol_bits, contents.symbol_bits)
    chunks = engine.encode(flat, chosen, width, options.thread_count(threads, flat.nbytes))
    return preamble.join(preamble.Preamble(CODECS[chosen], width, contents), chunks)


def decompress(stream: Any, out: Any = None, threads: int | None = None) -> Any:
    """Restore what was compressed, bit for bit.

    Args:
        stream: what compress() returned, as a bytes-like object.
        out: where to put it: a contiguous, writable array or CPU tensor of the same dtype and
            shape, or a writable bytes-like object of the same size.
        threads: threads at most; None: as many as pay.

    Returns:
        `out`, or a new NumPy array, CPU torch tensor or bytes: whichever was compressed.

    Raises:
        CorruptStreamError: the stream is damaged, truncated, or not a PlaneZip stream.
        InputError: an argument cannot be used.
    """
    source = adapter.byte_view(stream, "decompress")
    head, chunks = preamble.split(source)
    contents = head.contents
    restore.check_shape(contents)
    _native.check_chunks(chunks, contents.byte_length)  # before so much memory is asked for
    if out is None:
        flat, result = restore.new_contents(contents)
    else:
        flat, result = restore.own_contents(contents, out), out
        if np.may_share_memory(flat, source):
            raise InputError("out shares memory with the stream; give it memory of its own")
    codec, count = CODECS.index(head.codec), options.thread_count(threads, flat.nbytes)
    _native.decode(chunks, codec, head.symbol_bits, count, flat)
    return flat.tobytes() if out is None and contents.family == "bytes" else result


def compressed_size(
    x: Any, codec: str = "planezip", symbol_bits: int | None = None, threads: int | None = None
) -> int:
    """Bytes of the chunk stream that compress() would write for x: tags, headers and padding in.

    The preamble, which does not grow with the contents, is not counted. Arguments and errors are
    those of compress().
    """
    chosen = options.codec_id(codec)
    flat, contents = adapter.flatten(x)
    width = options.chosen_symbol_bits(symbol_bits, contents.symbol_bits)
    count = options.thread_count(threads, flat.nbytes)
    _, wire_bytes, _ = _native.measure(flat, width, 1 << chosen, 1, count)
    return wire_bytes[chosen]

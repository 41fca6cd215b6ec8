"""The options that all functions of the codec share, checked once and the same way."""

import operator
import os
from typing import Any, SupportsIndex

from planezip.codec.format import CODECS, SymbolBits
from planezip.errors import InputError

_NUMBERS: dict[str, int] = {name: number for number, name in enumerate(CODECS)}

PARALLEL_BYTES = 4 << 20
"""Below this size one thread is quicker than starting more."""

MAX_THREADS = 1 << 10
"""More are asked for in vain."""


def codec_id(codec: str) -> int:
    """The codec's number in streams; InputError if there is none of that name."""
    try:
        return _NUMBERS[codec]
    except (KeyError, TypeError):
        raise InputError(f"unknown codec {codec!r}; use one of {', '.join(CODECS)}") from None


def chosen_symbol_bits(symbol_bits: SupportsIndex | None, default: SymbolBits) -> SymbolBits:
    """The symbol width asked for, or the default; InputError unless 16 or 32."""
    if symbol_bits is None:
        return default
    try:
        bits = operator.index(symbol_bits)
    except TypeError:
        bits = 0
    if bits not in (16, 32):
        raise InputError(f"symbol_bits is {symbol_bits!r}; it can be 16 or 32")
    return 16 if bits == 16 else 32


def at_least(name: str, value: SupportsIndex, least: int) -> int:
    """A count as an int; InputError names it if it is not an integer of at least `least`."""
    try:
        count = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        count = least - 1
    if count < least:
        raise InputError(f"{name} is {value!r}; it must be an integer of at least {least}")
    return count


def thread_count(threads: int | None, size_bytes: int) -> int:
    """Threads to use: as asked for, else every processor that this process may use if it pays."""
    if threads is not None:
        return min(at_least("threads", threads, 1), MAX_THREADS)
    return _processors() if size_bytes >= PARALLEL_BYTES else 1


def _processors() -> int:
    affinity: Any = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1

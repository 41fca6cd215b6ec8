"""Run as a program: reads damaged streams that end where memory ends. A byte too far is a crash.

Every stream lies directly before a page that cannot be read, and so does what is decoded.
"""

import ctypes
import mmap

import numpy as np

import planezip
from forging import sealed
from planezip import CorruptStreamError, StreamView, _native
from planezip.codec import CODECS, describe

PAGE = mmap.PAGESIZE
ROOM = 16 * PAGE
LIBC = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """Memory between two pages that nobody may touch."""

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, ROOM + 2 * PAGE)
        self._all = np.frombuffer(self._map, np.uint8)
        for guard in (0, PAGE + ROOM):
            address = ctypes.c_void_p(self._all.ctypes.data + guard)
            assert LIBC.mprotect(address, ctypes.c_size_t(PAGE), 0) == 0  # PROT_NONE

    def at_end(self, size: int) -> np.ndarray:
        return self._all[PAGE + ROOM - size : PAGE + ROOM]

    def at_start(self, size: int) -> np.ndarray:
        return self._all[PAGE : PAGE + size]


SOURCE, TARGET = Guarded(), Guarded()


def placed(data: bytes) -> list[np.ndarray]:
    views = [SOURCE.at_end(len(data)), SOURCE.at_start(len(data))]
    for view in views:
        view[:] = np.frombuffer(data, np.uint8)
    return views


def attempt(stream: bytes, length: int) -> bool:
    """True if it was read; every entry point agrees on that."""
    verdicts = set()
    for view in placed(stream)[:1]:
        for out in (TARGET.at_end(length), TARGET.at_start(length)):
            verdicts.add(_outcome(planezip.decompress, view, out))
        verdicts.add(_outcome(planezip.decompress, view))
        verdicts.add(_outcome(describe, view))
        _outcome(lambda v: StreamView(v, verify=False).bytes(0, length), view)
    assert len(verdicts) == 1, verdicts
    return verdicts.pop()


def _outcome(read: object, *arguments: object) -> bool:
    try:
        read(*arguments)
    except (CorruptStreamError, planezip.InputError):
        return False
    return True


def contents() -> list[bytes]:
    rng = np.random.default_rng(5)
    halves = np.maximum(rng.normal(size=2100), 0).astype(np.float16)
    return [
        halves.tobytes(),
        rng.normal(size=40).astype(np.float32).tobytes()[:-1],
        np.arange(600, dtype=np.int32).tobytes() + b"\1\2\3",
        bytes(300),
        rng.integers(0, 256, 200, np.uint8).tobytes(),
    ]


def check_encoder() -> None:
    """The encoder and the sizes read nothing beyond the contents either."""
    for data in contents():
        for view in placed(data):
            for codec in CODECS:
                for bits in (16, 32):
                    stream = planezip.compress(view, codec, bits)
                    size = planezip.compressed_size(view, codec, bits)
                    assert planezip.decompress(stream).tobytes() == data
                    bound = planezip.compress_bound(len(data))
                    written = planezip.compress(view, codec, bits, out=TARGET.at_end(bound))
                    assert written == len(stream) > size


def check_decoder() -> None:
    rng = np.random.default_rng(6)
    read = 0
    for data in contents():
        for codec in CODECS:
            stream = planezip.compress(data, codec, 16)
            assert attempt(stream, len(data))
            for length in [
                *range(25, min(len(stream), 300)),
                *range(len(stream) - 40, len(stream)),
            ]:
                assert not attempt(sealed(stream[:length]), len(data))
            for _ in range(150):
                damaged = bytearray(stream)
                damaged[rng.integers(25, len(stream))] ^= 1 << rng.integers(8)
                read += attempt(sealed(bytes(damaged)), len(data))
    assert read > 100


for level in _native.levels().split(", "):
    _native.use_level(level)
    check_encoder()
    check_decoder()
    print("passed", level)

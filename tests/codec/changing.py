"""Run as a program: another thread changes what the engine reads. It still writes in bounds only.

Contents change while they are encoded and sized, streams while they are decoded. What they become
has no meaning; but nothing outside the output is written, and the engine returns.
"""

import contextlib
import threading
import time
from collections.abc import Callable

import numpy as np

from planezip import _native
from planezip.codec import CODECS
from planezip.errors import CorruptStreamError

SIZE = 300_000
CANARY = 0xAA
GUARD = 1 << 16
SECONDS = 0.05
NOISE = np.random.default_rng(1).integers(0, 256, SIZE, np.uint8)


def with_canaries(size: int) -> np.ndarray:
    return np.full(size + GUARD, CANARY, np.uint8)


def race(changed: np.ndarray, states: list[np.ndarray], run: Callable[[], object]) -> None:
    """Run again and again while `changed` takes one state after the other."""
    over = threading.Event()

    def change() -> None:
        while not over.is_set():
            for state in states:
                changed[: state.size] = state

    thread = threading.Thread(target=change)
    thread.start()
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            run()
    finally:
        over.set()
        thread.join()


def race_encoder(codec: int, bits: int, threads: int) -> None:
    contents = np.zeros(SIZE, np.uint8)
    bound = _native.encode_bound(SIZE)
    out = with_canaries(bound)

    def run() -> None:
        assert _native.encode(contents, codec, bits, threads, out[:bound]) <= bound
        assert (out[bound:] == CANARY).all()
        size = _native.measure(contents, bits, 1 << codec, 1, threads)[1][codec]
        assert 0 < size <= bound

    race(contents, [NOISE, np.zeros_like(NOISE)], run)


def race_decoder(codec: int, bits: int, threads: int) -> None:
    ramp = np.arange(SIZE // 4, dtype=np.uint32) % 1000 * (np.arange(SIZE // 4) % 3 > 0)
    chunks = np.frombuffer(
        _native.encode_bytes(ramp.view(np.uint8), codec, bits, 1), np.uint8
    ).copy()
    out = with_canaries(SIZE)

    def run() -> None:
        with contextlib.suppress(CorruptStreamError):
            _native.decode(chunks, codec, bits, threads, out[:SIZE])
        assert (out[SIZE:] == CANARY).all()

    flipped = np.random.default_rng(2).random(chunks.size) < 1e-3
    race(chunks, [chunks ^ (flipped * np.uint8(8)), chunks.copy()], run)


for level in _native.levels().split(", "):
    _native.use_level(level)
    for codec in range(len(CODECS)):
        for bits in (16, 32):
            for threads in (1, 3):
                race_encoder(codec, bits, threads)
                race_decoder(codec, bits, threads)
    print("passed", level)

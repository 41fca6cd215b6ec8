"""Which instructions the native engine runs on."""

from collections.abc import Iterator
from contextlib import contextmanager

from planezip import _native


def level() -> str:
    """The level in use: "avx512", "avx2" or "portable". Speeds differ, streams do not.

    It is the fastest that this machine has, unless the environment variable PLANEZIP_LEVEL names
    another.

    Raises:
        InputError: PLANEZIP_LEVEL names no level of this machine.
    """
    return _native.level()


def levels() -> tuple[str, ...]:
    """The levels that this machine has, fastest first."""
    return tuple(_native.levels().split(", "))


@contextmanager
def use_level(name: str) -> Iterator[None]:
    """Use another level within the context, in all threads; for tests and benchmarks.

    Raises:
        InputError: this machine has no such level.
    """
    before = level()
    _native.use_level(name)
    try:
        yield
    finally:
        _native.use_level(before)

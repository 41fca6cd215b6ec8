"""What the archives' functions are told."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from planezip.codec.streaming import Advance

Progress = Callable[[int | None], AbstractContextManager[Advance]]
"""Begins to show progress, given the bytes to do or None if unknown."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of compress(), for every tensor alike."""

    codec: str = "planezip"
    symbol_bits: int | None = None
    threads: int | None = None

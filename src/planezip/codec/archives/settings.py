"""What the archives' functions are told."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from planezip.codec.streaming import Advance


class Progress(Protocol):
    """Begins to show progress."""

    def __call__(self, total: int, writing: bool = False) -> AbstractContextManager[Advance]:
        """Of so many bytes: of the tensors, or, when all is converted, of the file `writing`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of compress(), for every tensor alike."""

    codec: str = "planezip"
    symbol_bits: int | None = None
    threads: int | None = None

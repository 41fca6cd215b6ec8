"""What became of the values that autograd saved in one forward pass."""

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Literal

import torch

from planezip.execution.copies import Copier, Copy, Memory
from planezip.execution.pool import PoolFullError

Action = Literal["keep", "swap", "compress", "drop"]


@dataclass(slots=True, eq=False)
class Saved:
    """One saved value, however many operators saved it.

    Attributes:
        value: its index on the tape.
        action: what is done with it.
        dtype: element type to compress it as.
        handles: how often autograd holds it.
        waiting: how many of these backward has not taken out yet.
        memory: its contents, if they are in device memory.
        copy: its contents, compressed.
    """

    value: int
    action: Action
    dtype: torch.dtype
    handles: int = 0
    waiting: int = 0
    memory: Memory | None = None
    copy: Copy | None = None
    _leaving: "Future[None] | None" = None
    _returning: "Future[Memory] | None" = None

    def leave(self, copier: Copier) -> None:
        """Start to compress it; its memory is given up as soon as that is done."""
        self._leaving = copier.start(self._compress, copier)

    def _compress(self, copier: Copier) -> None:
        """In a worker thread. Where the pool is full, the copy stays in device memory."""
        assert self.memory is not None
        try:
            self.copy = copier.make(self.memory, self.dtype, self.action == "compress")
        except PoolFullError:
            self.action = "compress"
            self.copy = copier.make(self.memory, self.dtype, in_place=True)
        self.memory = None

    def settle(self) -> None:
        """Wait until it has left."""
        if self._leaving is not None:
            leaving, self._leaving = self._leaving, None
            leaving.result()

    def fetch(self, copier: Copier) -> None:
        """Start to bring it back, if it is away."""
        self.settle()
        if self.memory is None and self.copy is not None and self._returning is None:
            self._returning = copier.start(copier.restore, self.copy)

    def present(self, copier: Copier) -> Memory | None:
        """Its contents in device memory, None if only a replay brings them back."""
        self.settle()
        if self.memory is None and self.copy is not None:
            returning, self._returning = self._returning, None
            self.memory = returning.result() if returning else copier.restore(self.copy)
        return self.memory

    def rest(self) -> None:
        """Give up the memory if the value can be had again."""
        if self.copy is not None or self.action == "drop":
            self.memory = None

    def forget(self) -> None:
        """Give up everything."""
        self.settle()
        self.memory = self.copy = self._returning = None

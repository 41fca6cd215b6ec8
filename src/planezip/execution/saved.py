"""What became of the values that autograd saved in one forward pass."""

from concurrent.futures import Future
from dataclasses import dataclass
from time import perf_counter

import torch

from planezip.execution.copies import Copier, Copy
from planezip.execution.device import Memory
from planezip.execution.journal import Journal
from planezip.execution.pool import PoolFullError
from planezip.records import Action
from planezip.records.timeline import Happening


@dataclass(slots=True, eq=False)
class Saved:
    """One saved value, however many operators saved it.

    Attributes:
        value: its index on the tape.
        storage: number of its storage.
        action: what is done with it.
        dtype: element type to compress it as.
        journal: what notes copies and waiting, or None.
        sources: what its replay starts from, if it is dropped.
        handles: how often autograd holds it.
        waiting: how many of these backward has not taken out yet.
        memory: its contents, if they are in device memory.
        copy: its contents, compressed.
        overflowed: the pool did not take it.
    """

    value: int
    storage: int
    action: Action
    dtype: torch.dtype
    journal: Journal | None = None
    sources: tuple[int, ...] = ()
    handles: int = 0
    waiting: int = 0
    memory: Memory | None = None
    copy: Copy | None = None
    overflowed: bool = False
    _copier: Copier | None = None
    _leaving: "Future[None] | None" = None
    _returning: "Future[Memory] | None" = None

    @property
    def in_place(self) -> bool:
        """Whether its copy stays in device memory."""
        return self.action == "compress" or self.overflowed

    def leave(self, copier: Copier) -> None:
        """Start to compress it; its memory is given up as soon as that is done."""
        if self.memory is not None and self._leaving is None:
            self._copier = copier
            self._leaving = copier.start(self._compress, copier)

    def _compress(self, copier: Copier) -> None:
        """In a worker thread. Where the pool is full, the copy stays in device memory."""
        assert self.memory is not None
        start_s = perf_counter()
        try:
            self.copy = copier.make(self.memory, self.dtype, self.in_place, self._see)
        except PoolFullError:
            self.overflowed = True
            self.copy = copier.make(self.memory, self.dtype, True, self._see)
        self.memory = None
        self._note(start_s, "encode" if self.in_place else "swap_out")

    def settle(self) -> None:
        """Wait until it has left; what no worker has begun is done here."""
        leaving, self._leaving = self._leaving, None
        if leaving is None:
            return
        if leaving.done():
            return leaving.result()
        start_s = perf_counter()
        if leaving.cancel():
            assert self._copier is not None
            self._compress(self._copier)
        else:
            leaving.result()
        self._note(start_s, "stall")

    def fetch(self, copier: Copier) -> None:
        """Start to bring it back, if it is away."""
        self.settle()
        if self.memory is None and self.copy is not None and self._returning is None:
            self._returning = copier.start(self._restore, copier)

    def _restore(self, copier: Copier) -> Memory:
        assert self.copy is not None
        start_s = perf_counter()
        memory = copier.restore(self.copy, self._see)
        self._note(start_s, "decode" if self.in_place else "swap_in")
        return memory

    def present(self, copier: Copier) -> Memory | None:
        """Its contents in device memory, None if only a replay brings them back."""
        if self._leaving is not None and self._leaving.cancel():
            self._leaving = None  # nobody has begun to take it away
        self.settle()
        if self.memory is None and self.copy is not None:
            self.memory = self._returned(copier)
        if self.in_place and self.memory is not None:
            self.copy = None  # it stays from here on, and what was compressed is not needed
        return self.memory

    def _returned(self, copier: Copier) -> Memory:
        """Wait until it is back; what no worker has begun is done here."""
        returning, self._returning = self._returning, None
        if returning is not None and returning.done():
            return returning.result()
        start_s = perf_counter()
        if returning is None or returning.cancel():
            memory = self._restore(copier)
        else:
            memory = returning.result()
        self._note(start_s, "stall")
        return memory

    def rest(self) -> None:
        """Give up the memory if the value can be had again."""
        if self.copy is not None or self.action == "drop":
            self.memory = None

    def pin(self, memory: Memory) -> None:
        """Hold this memory, whatever becomes of its contents; nothing else of the value counts."""
        self.settle()
        self.action, self.memory, self.copy = "keep", memory, None

    def forget(self) -> None:
        """Give up everything."""
        leaving, self._leaving = self._leaving, None
        if leaving is not None and not leaving.cancel():
            leaving.result()
        self.memory = self.copy = self._returning = None

    def _see(self, memory: Memory) -> None:
        if self.journal is not None:
            self.journal.meter.see(memory)

    def _note(self, start_s: float, kind: Happening) -> None:
        if self.journal is not None:
            self.journal.note(start_s, kind, storage=self.storage)

"""What became of the values that autograd saved in one forward pass."""

from concurrent.futures import Future
from dataclasses import dataclass, field
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
        action: what the plan says.
        dtype: element type to compress it as.
        handles: how often autograd holds it.
        unpacked: how often backward took it out.
        pins: dropped values whose replay starts from it.
        memory: its contents, if they are in device memory.
        copy: its contents, compressed.
        leaving, returning: a copy out or back that is under way.
    """

    value: int
    action: Action
    dtype: torch.dtype
    nbytes: int
    handles: int = 0
    unpacked: int = 0
    pins: int = 0
    memory: Memory | None = None
    copy: Copy | None = None
    leaving: "Future[Copy] | None" = None
    returning: "Future[Memory] | None" = None
    replays_from: tuple["Saved", ...] = field(default=())

    def leave(self, copier: Copier) -> None:
        """Start to compress it; its memory is given up when `settle` finds that done."""
        assert self.memory is not None
        self.leaving = copier.out(self.memory, self.dtype, self.action == "compress")

    def settle(self) -> None:
        """Wait until a copy out is complete; where the pool is full the value stays."""
        if self.leaving is None:
            return
        leaving, self.leaving = self.leaving, None
        try:
            self.copy = leaving.result()
            self.memory = None
        except PoolFullError:
            self.action = "keep"

    def fetch(self, copier: Copier) -> None:
        """Start to bring it back."""
        self.settle()
        if self.memory is None and self.copy is not None and self.returning is None:
            self.returning = copier.back(self.copy)

    def present(self, copier: Copier) -> Memory | None:
        """Its contents in device memory, None if only a replay brings them back."""
        self.settle()
        if self.memory is None and self.copy is not None:
            returning, self.returning = self.returning, None
            self.memory = returning.result() if returning else copier.restore(self.copy)
        return self.memory

    def rest(self) -> None:
        """Give up the memory if the value can be had again."""
        if self.copy is not None or self.action == "drop":
            self.memory = None

    def forget(self) -> None:
        """Give up everything."""
        self.settle()
        self.memory = self.copy = self.returning = None

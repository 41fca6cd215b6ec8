"""What an online policy drives."""

from collections.abc import Iterable
from typing import Protocol

from planezip.records import Step


class Machine(Protocol):
    """What carries out the decisions; `simulation.OnlineMachine` is one."""

    now_s: float

    def scratch(self, storage: int) -> int:
        """A further buffer, for another version of a storage."""

    def shortage_bytes(self, buffers: Iterable[int]) -> int:
        """By how much memory falls short for more buffers once all copies under way are done."""

    def take(self, buffers: Iterable[int]) -> None:
        """Allocate, waiting for copies under way; PlanOverflowError if that does not help."""

    def drop(self, storage: int) -> None:
        """Free a storage's buffer; its contents are lost."""

    def swap_out(self, storage: int) -> None:
        """Copy to the host; the buffer is freed when that is done."""

    def release(self, storage: int) -> None:
        """Free a storage's buffer whose contents the host has."""

    def fetch(self, storage: int) -> None:
        """Copy a storage back from the host and wait for it; what `take` raises."""

    def run(self, step: Step) -> None:
        """Compute a step whose operands are there, then free what it frees."""

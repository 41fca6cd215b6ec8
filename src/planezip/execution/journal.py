"""What happened in one planned pass and when."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import torch

from planezip.execution.meter import Meter
from planezip.records.timeline import Happening


class Entry(NamedTuple):
    """Something that took time.

    Attributes:
        start_s, end_s: of `time.perf_counter`.
        op: its index on the tape, -1 for copies and waiting.
        storage: number of the storage that was copied, replayed or waited for, else -1.
    """

    start_s: float
    end_s: float
    kind: Happening
    op: int = -1
    storage: int = -1


@dataclass
class Journal:
    """Entries in order of their ends; worker threads write as well.

    Attributes:
        start_s: when the forward pass began.
        end_s: when the latest backward pass ended.
        memory: (time, activation bytes from then on) until that end.
        meter: what counts memory.
    """

    start_s: float = field(default_factory=perf_counter)
    end_s: float = 0.0
    entries: list[Entry] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    meter: Meter = field(default_factory=Meter)

    @property
    def peak_bytes(self) -> int:
        """The most activation memory at any time."""
        return max((used for _, used in self.memory), default=0)

    def note(self, start_s: float, kind: Happening, op: int = -1, storage: int = -1) -> None:
        """Something that began at `start_s` is over."""
        self.entries.append(Entry(start_s, perf_counter(), kind, op, storage))

    def pause(self, gradients: Iterable[torch.Tensor]) -> None:
        """A backward pass is over, perhaps the last one.

        Args:
            gradients: of parameters, which are outside the budget.
        """
        self.end_s = perf_counter()
        self.memory = self.meter.history(gradients)

"""An iteration that was decided while it ran, as the program that it turned out to be."""

from dataclasses import dataclass
from typing import Literal

from planezip.records.plan import Step
from planezip.records.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Departure:
    """A tensor that left its buffer between two steps.

    Attributes:
        storage: id of the storage, also its buffer.
        way: "drop": its contents are gone; "swap": the buffer is freed when the copy to the host
            that begins now is complete; "release": freed at once, since the host has the contents
            from an earlier swap.
        time_s: when it was decided.
    """

    storage: int
    way: Literal["drop", "swap", "release"]
    time_s: float


@dataclass(frozen=True, slots=True)
class Return:
    """A tensor that was copied back from the host, complete before the next step."""

    storage: int


@dataclass(frozen=True, slots=True)
class OnlineIteration:
    """What happened, in the order in which it was decided.

    Attributes:
        budget_bytes: limit on activation memory.
        log: steps, and between them what left and came back. Events of the timeline count the
            steps from 0.
        scratch: storage id of every further buffer, as in Plan.
        timeline: when it happened.
    """

    budget_bytes: int
    log: tuple[Step | Departure | Return, ...]
    scratch: tuple[int, ...]
    timeline: Timeline

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(entry for entry in self.log if isinstance(entry, Step))

"""What happened when: the result of simulating (or running) a plan."""

from dataclasses import dataclass
from typing import Literal

Stream = Literal["compute", "d2h", "h2d"]
Happening = Literal["op", "replay", "stall", "swap_out", "swap_in", "encode", "decode"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that occupied a stream.

    Attributes:
        start_s, end_s: seconds since the iteration began.
        kind: "op", "replay", "stall" on the compute stream; "swap_out" on d2h; "swap_in" on h2d.
            What is compressed in place takes the same queues: "encode" on d2h, "decode" on h2d.
        step: index into Plan.steps ("stall": the step that waited), -1 for transfers.
        storage: the storage transferred or replayed, or waited for; -1 where there is none.
    """

    start_s: float
    end_s: float
    stream: Stream
    kind: Happening
    step: int
    storage: int = -1


@dataclass(frozen=True, slots=True)
class Timeline:
    """One iteration under a plan.

    Attributes:
        duration_s: from the first operator's start to the last one's end.
        recompute_s: time of the compute stream in replays.
        stall_s: time of the compute stream in waiting for memory or for a prefetch.
        peak_bytes: largest activation memory at any moment.
        swapped_bytes: raw bytes copied to the host; not those compressed in place.
        wire_bytes: compressed bytes copied to the host.
        events: what occupied the streams, by start time; empty unless asked for.
        memory: (seconds, bytes of activation memory from then on); empty unless asked for.
    """

    duration_s: float
    recompute_s: float
    stall_s: float
    peak_bytes: int
    swapped_bytes: int
    wire_bytes: int
    events: tuple[Event, ...] = ()
    memory: tuple[tuple[float, int], ...] = ()

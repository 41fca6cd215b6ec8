"""Copy queues and memory of the simulated GPU, advanced by events in a total order (paper IV)."""

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal

from planezip.records import Event

# Events at the same time: memory is freed before anything asks for it.
_OUT_DONE, _IN_DONE = 0, 1


@dataclass(slots=True)
class Transfer:
    """A storage on its way out and back: to the host, or compressed in place.

    Attributes:
        out_s, in_s: seconds on each queue, set-up included.
        resident_bytes: what it takes on the device while it is away: nothing on the host, its
            compressed bytes in place.
        copied: the copy is complete. released: its last use before it leaves is over.
        back: the copy back is complete.
    """

    storage: int
    bytes: int
    out_s: float
    in_s: float
    resident_bytes: int = 0
    copied: bool = False
    released: bool = False
    back: bool = False


class Device:
    """Memory and the two FIFO copy queues.

    Memory is only ever taken if it fits the budget. A swap-in takes its memory when its copy
    starts; the queue's head waits for its own swap-out and for room, and holds up those behind it.
    """

    def __init__(self, budget_bytes: int, detail: bool) -> None:
        self.budget_bytes = budget_bytes
        self.used_bytes = self.peak_bytes = 0
        self.events: list[Event] = []
        self.memory: list[tuple[float, int]] = []
        self._detail = detail
        self._done: list[tuple[float, int, int, Transfer]] = []  # heap
        self._sequence = 0
        self._out_free_s = 0.0
        self._waiting_in: deque[Transfer] = deque()
        self._in_busy = False

    def fits(self, size: int) -> bool:
        return self.used_bytes + size <= self.budget_bytes

    def change(self, time_s: float, size: int) -> None:
        """Take (or with a negative size give back) memory."""
        self.used_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.used_bytes)
        if self._detail and size:
            self.memory.append((time_s, self.used_bytes))

    def swap_out(self, time_s: float, t: Transfer) -> None:
        """Queue a copy to the host that may start at `time_s`."""
        start = max(time_s, self._out_free_s)
        self._out_free_s = start + t.out_s
        if self._detail:
            kind: Literal["encode", "swap_out"] = "encode" if t.resident_bytes else "swap_out"
            self.events.append(Event(start, self._out_free_s, "d2h", kind, -1, t.storage))
        self._finish_at(self._out_free_s, _OUT_DONE, t)

    def release(self, time_s: float, t: Transfer) -> None:
        """Its last use is over: the memory goes now or when the copy is complete."""
        t.released = True
        if t.copied:
            self.change(time_s, t.resident_bytes - t.bytes)

    def swap_in(self, t: Transfer) -> None:
        """Queue a copy back; `start_swap_in` starts it."""
        self._waiting_in.append(t)

    def may_start_swap_in(self) -> bool:
        """Whether a copy back waits for nothing but its data or room."""
        return bool(self._waiting_in) and not self._in_busy

    def start_swap_in(self, time_s: float) -> None:
        """Start the queue's head if the link is idle, its data on the host, and room for it."""
        if self._in_busy or not self._waiting_in:
            return
        t = self._waiting_in[0]
        if t.copied and t.released and self.fits(t.bytes):
            self._waiting_in.popleft()
            self._in_busy = True
            self.change(time_s, t.bytes)
            if self._detail:
                kind: Literal["decode", "swap_in"] = "decode" if t.resident_bytes else "swap_in"
                self.events.append(Event(time_s, time_s + t.in_s, "h2d", kind, -1, t.storage))
            self._finish_at(time_s + t.in_s, _IN_DONE, t)

    def next_s(self) -> float | None:
        """When the next copy completes, None if none is under way."""
        return self._done[0][0] if self._done else None

    def complete_next(self) -> float:
        """Complete the next copy; its time. The caller decides whether a swap-in starts then."""
        time_s, kind, _, t = heappop(self._done)
        if kind == _OUT_DONE:
            t.copied = True
            if t.released:
                self.change(time_s, t.resident_bytes - t.bytes)
        else:
            t.back = True
            self._in_busy = False
            self.change(time_s, -t.resident_bytes)
        return time_s

    def _finish_at(self, time_s: float, kind: int, t: Transfer) -> None:
        self._sequence += 1
        heappush(self._done, (time_s, kind, self._sequence, t))

"""When the buffers that replays touch are allocated and freed."""

from collections.abc import Iterable, Mapping


class Lives:
    """Follows buffers in step order; a buffer lives from its allocation to its last touch.

    Attributes:
        changed: the buffers whose frees differ from those of the program that evicts nothing.
        freed: step -> buffers among them that are freed after it.
        allocated: (step, buffer) of every allocation by a replay.
        first_replay: buffer -> the first step of a replay that touches it.
    """

    def __init__(self, ends: Mapping[int, int]) -> None:
        self._ends = ends  # buffer -> the step of its last touch outside replays
        self._open: dict[int, int] = {}  # buffer -> its last touch so far
        self.changed: set[int] = set()
        self.freed: dict[int, set[int]] = {}
        self.allocated: list[tuple[int, int]] = []
        self.first_replay: dict[int, int] = {}

    def shorten(self, buffer: int, end: int) -> None:
        """The life that began in the forward pass ends early."""
        self.changed.add(buffer)
        self._open[buffer] = end

    def allocate(self, buffer: int, step: int, end: int) -> None:
        """A replay begins a new life, which lasts to `end` at least."""
        previous = self._open.get(buffer, self._ends.get(buffer))
        if previous is not None:
            self.freed.setdefault(previous, set()).add(buffer)
        self.changed.add(buffer)
        self.allocated.append((step, buffer))
        self._open[buffer] = end

    def touch(self, buffer: int, step: int) -> None:
        """A replay reads or writes the buffer."""
        self.first_replay.setdefault(buffer, step)
        if self._open.get(buffer, self._ends.get(buffer, -1)) < step:
            self.changed.add(buffer)
            self._open[buffer] = step

    def close(self) -> None:
        """End all lives."""
        for buffer, end in self._open.items():
            self.freed.setdefault(end, set()).add(buffer)
        self._open.clear()

    def changed_positions(self, last_touch: Mapping[int, int], step_of: list[int]) -> Iterable[int]:
        """Positions whose own step frees other buffers than without eviction."""
        own = {step: position for position, step in enumerate(step_of)}
        before = {last_touch[b] for b in self.changed if b in last_touch}
        return before | {own[step] for step in self.freed if step in own}

"""Proof from the log alone that an iteration decided online is right; shares nothing with it."""

from collections.abc import Mapping
from itertools import accumulate, pairwise

from planezip.errors import PlanCheckError
from planezip.records import (
    Departure,
    Event,
    OnlineIteration,
    Platform,
    Return,
    Step,
    Trace,
    op_seconds,
)
from planezip.records.trace import BUDGETED_KINDS

_TOLERANCE_S = 1e-9
Value = tuple[int, int]  # (storage, version): what a storage holds after so many writes


def check_online(
    trace: Trace, platform: Platform, iteration: OnlineIteration, ratios: Mapping[int, float]
) -> None:
    """Prove that every operator found the values that it reads, in time and within the budget.

    Args:
        iteration: its timeline with detail.
        ratios: storage -> ratio of its transfers; left-out ones count as 1.

    Raises:
        PlanCheckError: names the rule that is broken.
    """
    _Contents(trace, iteration).check()
    _Times(trace, platform, iteration, ratios).check()


class _Contents:
    """Runs the log on symbols: every buffer holds a value."""

    def __init__(self, trace: Trace, iteration: OnlineIteration) -> None:
        self.trace, self.log = trace, iteration.log
        self.home = [*range(len(trace.storages)), *iteration.scratch]
        self.reads, self.after = _values(trace)
        self.holds: dict[int, Value] = {s: (s, 0) for s in _batch(trace)}
        self.host: dict[int, Value] = {}
        own = [op for op in trace.ops if not op.is_view]
        self.last = {s: op.index for op in own for s in (*op.reads, *op.writes)}
        self.done = -1  # the latest operator that ran for itself

    def check(self) -> None:
        for entry in self.log:
            if isinstance(entry, Departure):
                self._depart(entry)
            elif isinstance(entry, Return):
                _require(entry.storage in self.host, f"{entry} was never copied to the host")
                _require(entry.storage not in self.holds, f"{entry} is there already")
                self.holds[entry.storage] = self.host[entry.storage]
            else:
                self._run(entry)
        own = [e.op for e in self.log if isinstance(e, Step) and e.replay_for < 0]
        traced = [op.index for op in self.trace.ops if not op.is_view]
        _require(own == traced, "not every operator of the trace ran once, in order")

    def _depart(self, entry: Departure) -> None:
        self._leave(entry.storage, f"{entry}")
        value = self.holds.pop(entry.storage, None)
        if value is None:
            raise PlanCheckError(f"{entry} was not there")
        if entry.way == "swap":
            self.host[entry.storage] = value
        if entry.way == "release":
            _require(self.host.get(entry.storage) == value, f"{entry}: the host has other contents")

    def _run(self, step: Step) -> None:
        op = self.trace.ops[step.op]
        if step.replay_for < 0:
            _require(step.into == op.writes, f"{step} does not write to its own storages")
            self.done = max(self.done, step.op)
        _require(step.op <= self.done, f"{step} replays what has not run yet")
        if step.replay_for >= 0:
            _require(op.repeatable, f"{step} replays what is not repeatable")
            for b in step.into:
                self._leave(b, f"{step}")
        for value in self.reads[step.op]:
            _require(value in self.holds.values(), f"{step} does not find {value}")
        for s, b in zip(op.writes, step.into, strict=True):
            if self.trace.storages[s].kind not in BUDGETED_KINDS:
                continue
            _require(self.home[b] == s, f"{step} writes storage {s} into another one's buffer")
            _, version = value = self.after[step.op][s]
            if s in op.reads:
                found = self.holds.get(b)
                _require(found == (s, version - 1), f"{step} updates {found} in place")
            self.holds[b] = value
        for b in step.free:
            self._leave(b, f"{step}")
            _require(self.holds.pop(b, None) is not None, f"{step} frees {b}, which is not there")

    def _leave(self, buffer: int, what: str) -> None:
        """A buffer loses its contents; what the trace says cannot leave must have no use left."""
        if buffer < len(self.trace.storages) and self.done < self.last.get(buffer, -1):
            s = self.trace.storages[buffer]
            may = s.evictable or s.kind not in BUDGETED_KINDS
            _require(may, f"{what} takes away storage {buffer}, which is not evictable")


class _Times:
    """Walks along log and events together: order, durations, streams and memory."""

    def __init__(
        self,
        trace: Trace,
        platform: Platform,
        iteration: OnlineIteration,
        ratios: Mapping[int, float],
    ) -> None:
        self.platform, self.iteration, self.ratios = platform, iteration, ratios
        self.seconds = op_seconds(trace, platform)
        storages = [*trace.storages, *(trace.storages[s] for s in iteration.scratch)]
        self.sizes = [
            s.bytes_at(platform.precision) if s.kind in BUDGETED_KINDS else 0 for s in storages
        ]
        events = [e for e in iteration.timeline.events if e.kind != "stall"]
        self.streams = {n: [e for e in events if e.stream == n] for n in ("compute", "d2h", "h2d")}
        self.coming = {n: iter(events) for n, events in self.streams.items()}
        self.resident = _batch(trace)
        self.changes = [(0.0, self.sizes[s]) for s in self.resident]  # (seconds, bytes)
        self.now_s = 0.0  # the compute stream
        self.on_host_s: dict[int, float] = {}

    def check(self) -> None:
        for stream, events in self.streams.items():
            for before, after in pairwise(events):
                free = after.start_s >= before.end_s - _TOLERANCE_S
                _require(free, f"{before} and {after} overlap on {stream}")
        for entry in self.iteration.log:
            if isinstance(entry, Departure):
                self._depart(entry)
            elif isinstance(entry, Return):
                self._return(entry)
            else:
                self._run(entry)
        left = [event for events in self.coming.values() for event in events]
        _require(not left, f"{left[:1]} is not in the log")
        late_s = self.iteration.timeline.duration_s - self.now_s
        _require(abs(late_s) < _TOLERANCE_S, f"the duration is wrong by {late_s} s")
        self._check_memory()

    def _depart(self, entry: Departure) -> None:
        s = entry.storage
        _require(entry.time_s >= self.now_s - _TOLERANCE_S, f"{entry} left while it was used")
        self.now_s = freed_s = entry.time_s
        if entry.way == "swap":
            out = self._copied("d2h", s, self.platform.d2h_bytes_per_s)
            _require(out.start_s >= entry.time_s, f"{out} begins before {entry}")
            freed_s = self.on_host_s[s] = out.end_s
        self.resident.remove(s)
        self.changes.append((freed_s, -self.sizes[s]))

    def _return(self, entry: Return) -> None:
        s = entry.storage
        back = self._copied("h2d", s, self.platform.h2d_bytes_per_s)
        there_s = max(self.on_host_s[s], self.now_s)
        _require(back.start_s >= there_s - _TOLERANCE_S, f"{back} begins too early")
        self.now_s = back.end_s
        self.resident.add(s)
        self.changes.append((back.start_s, self.sizes[s]))

    def _run(self, step: Step) -> None:
        event = self._next("compute")
        _require(event.start_s >= self.now_s - _TOLERANCE_S, f"{event} begins too early")
        _require(_lasts(event, self.seconds[step.op]), f"{event} has the wrong duration")
        self.now_s = event.end_s
        fresh = set(step.into) - self.resident
        self.resident = (self.resident | fresh) - set(step.free)
        self.changes += [(event.start_s, self.sizes[b]) for b in fresh]
        self.changes += [(event.end_s, -self.sizes[b]) for b in step.free]

    def _copied(self, stream: str, storage: int, link_bytes_per_s: float) -> Event:
        event = self._next(stream)
        _require(event.storage == storage, f"{event} is not of storage {storage}")
        ratio = self.ratios.get(storage, 1.0)
        seconds = self.platform.copy_s(self.sizes[storage], ratio, link_bytes_per_s)
        _require(_lasts(event, seconds), f"{event} should take {seconds} s")
        return event

    def _next(self, stream: str) -> Event:
        event = next(self.coming[stream], None)
        if event is None:
            raise PlanCheckError(f"the log has more on {stream} than the timeline")
        return event

    def _check_memory(self) -> None:
        # Of what happens at the same time, frees first give the least that can have been used.
        least = _peak_bytes(sorted(self.changes))
        most = _peak_bytes(sorted(self.changes, key=lambda change: (change[0], -change[1])))
        peak, budget = self.iteration.timeline.peak_bytes, self.iteration.budget_bytes
        _require(max(least, peak) <= budget, f"memory reaches {max(least, peak)} of {budget} bytes")
        _require(least <= peak <= most, f"the peak is {least} to {most}, not {peak} as said")


def _values(trace: Trace) -> tuple[list[list[Value]], list[dict[int, Value]]]:
    """Per operator the values that it reads, and what it leaves in the storages that it writes."""
    version = dict.fromkeys(range(len(trace.storages)), 0)
    reads, after = [], []
    for op in trace.ops:
        budgeted = [s for s in op.reads if trace.storages[s].kind in BUDGETED_KINDS]
        reads.append([] if op.is_view else [(s, version[s]) for s in budgeted])
        for s in op.writes:
            version[s] += 1
        after.append({s: (s, version[s]) for s in op.writes})
    return reads, after


def _batch(trace: Trace) -> set[int]:
    used = {s for op in trace.ops if not op.is_view for s in (*op.reads, *op.writes)}
    return {s.id for s in trace.storages if s.kind == "input" and s.id in used}


def _peak_bytes(changes: list[tuple[float, int]]) -> int:
    return max(accumulate(change for _, change in changes), default=0)


def _lasts(event: Event, seconds: float) -> bool:
    return abs(event.end_s - event.start_s - seconds) < _TOLERANCE_S


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise PlanCheckError(otherwise)

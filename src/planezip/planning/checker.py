"""Proof by interpretation that a plan is feasible; shares nothing with the planners.

The checker runs the program on symbols: every buffer holds a value (storage, version), every
operator finds the values that it read in the traced iteration or the plan is wrong.
"""

from collections.abc import Mapping

from planezip.errors import PlanCheckError
from planezip.planning.eviction_checker import check_actions, check_residence, check_stays
from planezip.records import Plan, Platform, Step, Swap, Trace, compressed_bytes, op_seconds
from planezip.records.trace import BUDGETED_KINDS

Value = tuple[int, int]


def check_plan(trace: Trace, platform: Platform, plan: Plan) -> int:
    """Prove replay dependencies, the budget, and (where promised) the deadlines of both queues.

    So are the plan's actions: nothing leaves that it keeps or that the trace says cannot leave, and
    the plan is one of those for which the bound holds (docs/bound.md).

    Returns:
        The largest activation memory in bytes, every swap taken as complete in time and everything
            compressed in place by its ratio in the plan.

    Raises:
        PlanCheckError: names the rule, the step and the storage.
    """
    check_actions(trace, plan)
    check_stays(trace, plan)
    peak_bytes = _Interpreter(trace, platform, plan).run()
    check_residence(trace, plan)
    if plan.meets_deadlines:
        _check_deadlines(trace, platform, plan)
    return peak_bytes


class _Interpreter:
    def __init__(self, trace: Trace, platform: Platform, plan: Plan) -> None:
        self.trace, self.plan = trace, plan
        storages = [*trace.storages, *(trace.storages[s] for s in plan.scratch)]
        self.sizes = [s.bytes_at(platform.precision) for s in storages]
        self.home = [s.id for s in storages]  # the storage whose versions a buffer can hold
        self.reads, self.writes = _values(trace)
        used = {s for op in trace.ops if not op.is_view for s in (*op.reads, *op.writes)}
        self.holds: dict[int, Value] = {
            s.id: (s.id, 0) for s in trace.storages if s.kind == "input" and s.id in used
        }
        self.compressed = {
            w.storage: compressed_bytes(self.sizes[w.storage], plan.ratios[w.storage])
            for w in plan.swaps
            if w.in_place
        }

    def run(self) -> int:
        plan, peak_bytes = self.plan, 0
        self._check_order()
        self._check_swaps()
        leaves = _group(plan.swaps, "release_after")
        returns = _group(plan.swaps, "prefetch_before")
        needed = _group(plan.swaps, "needed_by")
        in_flight: dict[int, Value] = {}
        pending: set[int] = set()
        self._leave(leaves.get(-1, ()), in_flight)
        for index, step in enumerate(plan.steps):
            pending.update(returns.get(index, ()))
            if self.compressed.keys() & set(needed.get(index, ())):
                # Until they are back, decompressed tensors are there twice.
                peak_bytes = max(peak_bytes, self._used_bytes(index, pending, in_flight))
            for s in needed.get(index, ()):
                pending.discard(s)
                self.holds[s] = in_flight.pop(s)
            self._read(index, step)
            self._write(index, step)
            peak_bytes = max(peak_bytes, self._used_bytes(index, pending, in_flight))
            for b in step.free:
                if self.holds.pop(b, None) is None:
                    _fail(f"step {index} frees buffer {b}, which is not resident")
            self._leave(leaves.get(index, ()), in_flight)
        return peak_bytes

    def _used_bytes(self, index: int, pending: set[int], in_flight: dict[int, Value]) -> int:
        """Memory in step `index`, which must be within the budget."""
        used = sum(self.sizes[b] for b in (*self.holds, *pending))
        used += sum(self.compressed.get(s, 0) for s in in_flight)
        if used > self.plan.budget_bytes:
            _fail(f"step {index} uses {used} bytes of a budget of {self.plan.budget_bytes}")
        return used

    def _check_order(self) -> None:
        own = [step.op for step in self.plan.steps if step.replay_for < 0]
        traced = [op.index for op in self.trace.ops if not op.is_view]
        if own != traced:
            _fail("the plan does not run every operator of the trace once, in order")
        for index, step in enumerate(self.plan.steps):
            op = self.trace.ops[step.op]
            if len(step.into) != len(op.writes):
                _fail(f"step {index} names {len(step.into)} outputs of {len(op.writes)}")
            if step.replay_for < 0 and step.into != op.writes:
                _fail(f"step {index} does not write to its own storages")
            if step.replay_for >= 0 and op.phase != "forward":
                _fail(f"step {index} replays an operator that is not of the forward pass")
            if step.replay_for >= 0 and not op.repeatable:
                _fail(f"step {index} replays an operator that is not repeatable ({op.name})")

    def _check_swaps(self) -> None:
        last = len(self.plan.steps)
        for w in self.plan.swaps:
            ordered = -1 <= w.out_after <= w.release_after < w.prefetch_before <= w.needed_by < last
            if not ordered:
                _fail(f"the swap of storage {w.storage} is out of order: {w}")
            if w.in_place and w.out_after < w.release_after:
                _fail(f"storage {w.storage} is compressed in place before its last use in forward")
            if w.in_place and self.compressed[w.storage] >= self.sizes[w.storage]:
                _fail(f"storage {w.storage} is compressed in place but does not shrink")
            written = [
                index
                for index, step in enumerate(self.plan.steps)
                if step.replay_for < 0 and w.storage in step.into
            ]
            if written and written[-1] > w.out_after:
                _fail(f"storage {w.storage} is copied out before its last write")

    def _leave(self, storages: tuple[int, ...] | list[int], in_flight: dict[int, Value]) -> None:
        for s in storages:
            if s not in self.holds:
                _fail(f"storage {s} is swapped out but not resident")
            in_flight[s] = self.holds.pop(s)

    def _read(self, index: int, step: Step) -> None:
        for value in self.reads[step.op]:
            if value not in self.holds.values():
                storage, version = value
                _fail(
                    f"step {index} ({self.trace.ops[step.op].name}) reads version {version} of "
                    f"storage {storage}, which no resident buffer holds"
                )

    def _write(self, index: int, step: Step) -> None:
        op = self.trace.ops[step.op]
        for s, b in zip(op.writes, step.into, strict=True):
            if self.trace.storages[s].kind not in BUDGETED_KINDS:
                continue
            if self.home[b] != s:
                _fail(f"step {index} writes storage {s} into a buffer of another storage")
            before, after = self.writes[step.op][s]
            # Whoever still needs what a write wipes out will not find it; only an operator that
            # updates in place needs the version before in this very buffer.
            if s in op.reads and self.holds.get(b) != (s, before):
                _fail(f"step {index} updates buffer {b} in place, which holds {self.holds.get(b)}")
            self.holds[b] = (s, after)


def _values(
    trace: Trace,
) -> tuple[list[list[Value]], list[dict[int, tuple[int, int]]]]:
    """Per operator: the values that it reads, and the version before and after each write."""
    version: dict[int, int] = {}
    reads: list[list[Value]] = []
    writes: list[dict[int, tuple[int, int]]] = []
    for op in trace.ops:
        budgeted = [s for s in op.reads if trace.storages[s].kind in BUDGETED_KINDS]
        reads.append([] if op.is_view else [(s, version.get(s, 0)) for s in budgeted])
        writes.append({s: (version.get(s, 0), version.get(s, 0) + 1) for s in op.writes})
        for s in op.writes:
            version[s] = version.get(s, 0) + 1
    return reads, writes


def _check_deadlines(trace: Trace, platform: Platform, plan: Plan) -> None:
    """Both queues without stalls: out by the end of forward, back before the first backward use.

    Replays only delay the uses, so the traced iteration's own times are the strict case.
    """
    seconds = op_seconds(trace, platform)
    start = [0.0]
    for s in seconds:
        start.append(start[-1] + s)
    forward_end_s = start[trace.forward_end]
    final: dict[int, float] = {}
    last_use: dict[int, float] = {}
    first_use: dict[int, float] = {}
    for op in trace.ops:
        if op.is_view:
            continue
        if op.phase == "forward":
            final |= dict.fromkeys(op.writes, start[op.index + 1])
            last_use |= dict.fromkeys((*op.reads, *op.writes), start[op.index + 1])
        else:
            for s in op.reads:
                first_use.setdefault(s, start[op.index])

    def may_start_s(w: Swap) -> float:
        return (last_use if w.in_place else final).get(w.storage, 0.0)

    clock_s = 0.0
    for w in sorted(plan.swaps, key=may_start_s):
        clock_s = max(clock_s, may_start_s(w)) + _copies_s(trace, platform, plan, w)[0]
        if clock_s > forward_end_s + 1e-9:
            _fail(f"the {_way(w)[0]} of storage {w.storage} ends after the forward pass")
    clock_s = forward_end_s
    for w in sorted(plan.swaps, key=lambda w: first_use[w.storage]):
        clock_s += _copies_s(trace, platform, plan, w)[1]
        if clock_s > first_use[w.storage] + 1e-9:
            _fail(f"the {_way(w)[1]} of storage {w.storage} ends after its first backward use")


def _copies_s(trace: Trace, platform: Platform, plan: Plan, w: Swap) -> tuple[float, float]:
    """Seconds on both queues."""
    size = trace.storages[w.storage].bytes_at(platform.precision)
    if w.in_place:
        return platform.compress_s(size)
    links = platform.d2h_bytes_per_s, platform.h2d_bytes_per_s
    out_s, in_s = (platform.copy_s(size, plan.ratios[w.storage], link) for link in links)
    return out_s, in_s


def _way(w: Swap) -> tuple[str, str]:
    return ("encoding", "decoding") if w.in_place else ("swap-out", "swap-in")


def _group(swaps: tuple[Swap, ...], field: str) -> Mapping[int, list[int]]:
    steps: dict[int, list[int]] = {}
    for w in swaps:
        steps.setdefault(getattr(w, field), []).append(w.storage)
    return steps


def _fail(message: str) -> None:
    raise PlanCheckError(message)

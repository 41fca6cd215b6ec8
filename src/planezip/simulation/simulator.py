"""Replays a plan on a platform: one compute stream, two copy queues, a hard budget (paper IV)."""

from collections.abc import Iterable, Mapping

from planezip.records import Plan, Platform, Swap, Timeline, Trace, compressed_bytes, op_seconds
from planezip.records.trace import BUDGETED_KINDS
from planezip.simulation.engine import Device, Transfer
from planezip.simulation.stream import ComputeStream


class Simulator:
    """What every plan for one (trace, platform) shares."""

    def __init__(self, trace: Trace, platform: Platform) -> None:
        self.platform = platform
        self.trace = trace
        self.seconds = op_seconds(trace, platform)
        self.sizes = [
            s.bytes_at(platform.precision) if s.kind in BUDGETED_KINDS else 0
            for s in trace.storages
        ]
        # The batch is there from the beginning, if anything computes with it.
        used = {s for op in trace.ops if not op.is_view for s in (*op.reads, *op.writes)}
        self.batch = [s.id for s in trace.storages if s.kind == "input" and s.id in used]

    def run(self, plan: Plan, ratios: Mapping[int, float], detail: bool = False) -> Timeline:
        """Simulate one iteration; transfers compress by `ratios` (a storage left out: by 1).

        Raises:
            PlanOverflowError: an allocation does not fit and no pending copy would free memory.
        """
        return _Run(self, plan, ratios, detail).run()

    def transfer(self, storage: int, ratios: Mapping[int, float]) -> Transfer:
        """The storage's way out and back, compressed by its ratio."""
        p, size, ratio = self.platform, self.sizes[storage], ratios.get(storage, 1.0)
        return Transfer(
            storage,
            size,
            p.copy_s(size, ratio, p.d2h_bytes_per_s),
            p.copy_s(size, ratio, p.h2d_bytes_per_s),
        )

    def compression(self, storage: int, ratios: Mapping[int, float]) -> Transfer:
        """The storage compressed in place and back, by its ratio."""
        size = self.sizes[storage]
        held = compressed_bytes(size, ratios.get(storage, 1.0))
        return Transfer(storage, size, *self.platform.compress_s(size), held)

    def wire_bytes(self, storage: int, ratios: Mapping[int, float]) -> int:
        """Bytes of the storage on the link to the host."""
        size, ratio = self.sizes[storage], ratios.get(storage, 1.0)
        compressed = self.platform.compresses(ratio, self.platform.d2h_bytes_per_s)
        return round(size / ratio) if compressed else size


class _Run(ComputeStream):
    def __init__(
        self, simulator: Simulator, plan: Plan, ratios: Mapping[int, float], detail: bool
    ) -> None:
        super().__init__(Device(plan.budget_bytes, detail), detail)
        self.simulator, self.plan, self.ratios = simulator, plan, ratios
        self.sizes = [*simulator.sizes, *(simulator.sizes[s] for s in plan.scratch)]
        self.transfers = {swap.storage: self._transfer(swap) for swap in plan.swaps}
        # Queues are FIFO, so what is needed first goes first.
        swaps = sorted(plan.swaps, key=lambda swap: (swap.needed_by, swap.storage))
        self.out_after = _by_step((swap.out_after, swap.storage) for swap in swaps)
        self.release_after = _by_step((swap.release_after, swap.storage) for swap in swaps)
        self.prefetch_before = _by_step((swap.prefetch_before, swap.storage) for swap in swaps)
        self.needed_by = _by_step((swap.needed_by, swap.storage) for swap in swaps)
        self.loud = {
            *self.out_after,
            *self.release_after,
            *self.prefetch_before,
            *self.needed_by,
        }  # the steps that copies begin at or wait for

    def run(self) -> Timeline:
        sizes, batch = self.sizes, self.simulator.batch
        self.resident = set(batch)
        self.allocate(-1, sum(sizes[s] for s in batch))
        self._leave(-1)
        index, count = 0, len(self.plan.steps)
        while index < count:
            if not self.detail:
                index = self._run_quiet_steps(index)
            if index < count:
                self._step(index)
                index += 1
        return self._timeline()

    def _step(self, index: int) -> None:
        device, sizes, step = self.device, self.sizes, self.plan.steps[index]
        for s in self.prefetch_before.get(index, ()):
            device.swap_in(self.transfers[s])
        self.catch_up()
        for s in self.needed_by.get(index, ()):
            self.wait_for_swap_in(index, self.transfers[s])
        new = [b for b in step.into if b not in self.resident]
        if new:
            self.allocate(index, sum(sizes[b] for b in new))
            self.resident.update(new)
        self.compute(index, self.simulator.seconds[step.op], step.replay_for)
        if step.free:
            device.change(self.now_s, -sum(sizes[b] for b in step.free))
            self.resident.difference_update(step.free)
        self._leave(index)

    def _run_quiet_steps(self, index: int) -> int:
        """Run the steps from `index` on during which no copy begins or ends; the first other one.

        Does what `_step` would do, for the many steps where that is next to nothing.
        """
        device, sizes, resident = self.device, self.sizes, self.resident
        if device.may_start_swap_in():
            return index
        steps, seconds, loud = self.plan.steps, self.simulator.seconds, self.loud
        next_s = device.next_s()
        limit_s = float("inf") if next_s is None else next_s
        now_s, recompute_s = self.now_s, self.recompute_s
        used, peak, budget = device.used_bytes, device.peak_bytes, device.budget_bytes
        for i in range(index, len(steps)):
            step = steps[i]
            op_s = seconds[step.op]
            if i in loud or now_s + op_s >= limit_s:
                break
            needed = 0
            for b in step.into:
                if b not in resident:
                    needed += sizes[b]
            if used + needed > budget:
                break
            resident.update(step.into)
            used += needed
            peak = max(peak, used)
            now_s += op_s
            if step.replay_for >= 0:
                recompute_s += op_s
            for b in step.free:
                used -= sizes[b]
                resident.remove(b)
        else:
            i = len(steps)
        self.now_s, self.recompute_s = now_s, recompute_s
        device.used_bytes, device.peak_bytes = used, peak
        return i

    def _leave(self, index: int) -> None:
        for s in self.out_after.get(index, ()):
            self.device.swap_out(self.now_s, self.transfers[s])
        for s in self.release_after.get(index, ()):
            self.device.release(self.now_s, self.transfers[s])

    def _transfer(self, swap: Swap) -> Transfer:
        way = self.simulator.compression if swap.in_place else self.simulator.transfer
        return way(swap.storage, self.ratios)

    def _timeline(self) -> Timeline:
        swapped = [self.transfers[swap.storage] for swap in self.plan.swaps if not swap.in_place]
        return Timeline(
            duration_s=self.now_s,
            recompute_s=self.recompute_s,
            stall_s=self.stall_s,
            peak_bytes=self.device.peak_bytes,
            swapped_bytes=sum(t.bytes for t in swapped),
            wire_bytes=sum(self.simulator.wire_bytes(t.storage, self.ratios) for t in swapped),
            events=tuple(sorted(self.device.events, key=lambda e: (e.start_s, e.end_s, e.stream))),
            memory=tuple(self.device.memory),
        )


def _by_step(entries: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """(step, storage) -> the storages of every step, in their order."""
    steps: dict[int, list[int]] = {}
    for step, storage in entries:
        steps.setdefault(step, []).append(storage)
    return steps

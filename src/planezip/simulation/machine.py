"""A simulated GPU that an online policy drives: the same time and memory as for a plan."""

from collections.abc import Iterable, Mapping

from planezip.records import Departure, OnlineIteration, Return, Step, Timeline
from planezip.simulation.engine import Device, Transfer
from planezip.simulation.simulator import Simulator
from planezip.simulation.stream import ComputeStream


class OnlineMachine(ComputeStream):
    """Carries out steps, departures and returns one by one, and logs them.

    Args:
        simulator: of the trace and the platform.
        ratios: storage -> ratio that its transfers have; a storage left out: 1.
        detail: whether the timeline shall hold events.
    """

    def __init__(
        self,
        simulator: Simulator,
        budget_bytes: int,
        ratios: Mapping[int, float],
        detail: bool = False,
    ) -> None:
        super().__init__(Device(budget_bytes, detail), detail)
        self._simulator, self._ratios = simulator, ratios
        self._sizes = list(simulator.sizes)
        self._log: list[Step | Departure | Return] = []
        self._steps = 0
        self._scratch: list[int] = []
        self._copies: dict[int, Transfer] = {}  # storage -> its latest copy to the host
        self._swapped: list[int] = []
        self._leaving: list[Transfer] = []

    def scratch(self, storage: int) -> int:
        """A further buffer, for another version of a storage."""
        self._scratch.append(storage)
        self._sizes.append(self._sizes[storage])
        return len(self._sizes) - 1

    def shortage_bytes(self, buffers: Iterable[int]) -> int:
        """By how much memory falls short for more buffers once all copies under way are done."""
        self.catch_up()
        self._leaving = [t for t in self._leaving if not t.copied]
        free = self.device.budget_bytes - self.device.used_bytes
        free += sum(t.bytes for t in self._leaving)
        return sum(self._sizes[b] for b in buffers) - free

    def take(self, buffers: Iterable[int]) -> None:
        """Allocate, waiting for copies under way; PlanOverflowError if that does not help."""
        self.allocate(self._steps, sum(self._sizes[b] for b in buffers))

    def drop(self, storage: int) -> None:
        """Free a storage's buffer; its contents are lost."""
        self._leave(storage, "drop")

    def swap_out(self, storage: int) -> None:
        """Copy to the host what it does not hold yet; the buffer is freed when that is done."""
        t = self._simulator.transfer(storage, self._ratios)
        self._log.append(Departure(storage, "swap", self.now_s))
        self.device.swap_out(self.now_s, t)
        self.device.release(self.now_s, t)
        self._copies[storage] = t
        self._leaving.append(t)
        self._swapped.append(storage)

    def release(self, storage: int) -> None:
        """Free a storage's buffer whose contents the host has."""
        self._leave(storage, "release")

    def fetch(self, storage: int) -> None:
        """Copy a storage back from the host and wait for it; what `take` raises."""
        t = self._copies[storage]
        t.back = False
        self.device.swap_in(t)
        self.wait_for_swap_in(self._steps, t)
        self._log.append(Return(storage))

    def run(self, step: Step) -> None:
        """Compute a step whose operands are there, then free what it frees."""
        self.compute(self._steps, self._simulator.seconds[step.op], step.replay_for)
        if step.free:
            self.device.change(self.now_s, -sum(self._sizes[b] for b in step.free))
        self._log.append(step)
        self._steps += 1

    def iteration(self) -> OnlineIteration:
        """What has happened so far."""
        device, sizes = self.device, self._sizes
        timeline = Timeline(
            duration_s=self.now_s,
            recompute_s=self.recompute_s,
            stall_s=self.stall_s,
            peak_bytes=device.peak_bytes,
            swapped_bytes=sum(sizes[s] for s in self._swapped),
            wire_bytes=sum(self._simulator.wire_bytes(s, self._ratios) for s in self._swapped),
            events=tuple(sorted(device.events, key=lambda e: (e.start_s, e.end_s, e.stream))),
            memory=tuple(device.memory),
        )
        return OnlineIteration(
            device.budget_bytes, tuple(self._log), tuple(self._scratch), timeline
        )

    def _leave(self, storage: int, way: str) -> None:
        self._log.append(Departure(storage, way, self.now_s))  # type: ignore[arg-type]
        self.device.change(self.now_s, -self._sizes[storage])

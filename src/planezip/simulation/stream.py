"""The compute stream: time passes by computing and by waiting for the device's copies."""

from planezip.errors import PlanOverflowError
from planezip.records import Event
from planezip.simulation.engine import Device, Transfer


class ComputeStream:
    """One compute stream beside the copy queues of a device.

    Attributes:
        now_s: seconds since the iteration began.
        recompute_s, stall_s: time spent in replays and in waiting.
    """

    def __init__(self, device: Device, detail: bool) -> None:
        self.device, self.detail = device, detail
        self.now_s = self.recompute_s = self.stall_s = 0.0

    def catch_up(self) -> None:
        """Let the copies run up to now; memory that one frees can start the next swap-in then."""
        device = self.device
        while (next_s := device.next_s()) is not None and next_s <= self.now_s:
            device.start_swap_in(device.complete_next())
        device.start_swap_in(self.now_s)

    def allocate(self, index: int, size: int) -> None:
        """Take memory, waiting for pending swap-outs; a waiting operator has the first claim.

        Raises:
            PlanOverflowError: no pending copy would free any memory.
        """
        device, began_s = self.device, self.now_s
        while not device.fits(size):
            if device.next_s() is None:
                raise PlanOverflowError(index, device.used_bytes + size, device.budget_bytes)
            self.now_s = device.complete_next()
        self._stalled(began_s, index, -1)
        device.change(self.now_s, size)
        device.start_swap_in(self.now_s)

    def wait_for_swap_in(self, index: int, t: Transfer) -> None:
        """Wait until a storage whose copy back is queued has arrived; what `allocate` raises."""
        device, began_s = self.device, self.now_s
        while not t.back:
            device.start_swap_in(self.now_s)
            if device.next_s() is None:
                raise PlanOverflowError(index, device.used_bytes + t.bytes, device.budget_bytes)
            self.now_s = device.complete_next()
        self._stalled(began_s, index, t.storage)
        device.start_swap_in(self.now_s)

    def compute(self, index: int, seconds: float, replay_for: int) -> None:
        """Run step `index`; `replay_for` is -1 outside replays."""
        end_s = self.now_s + seconds
        if replay_for >= 0:
            self.recompute_s += seconds
        if self.detail:
            kind = "replay" if replay_for >= 0 else "op"
            self.device.events.append(
                Event(self.now_s, end_s, "compute", kind, index, replay_for)  # type: ignore[arg-type]
            )
        # Copies that complete during the operator free memory and start swap-ins in their time.
        device = self.device
        while (next_s := device.next_s()) is not None and next_s <= end_s:
            device.start_swap_in(device.complete_next())
        self.now_s = end_s

    def _stalled(self, began_s: float, index: int, storage: int) -> None:
        """Step `index` waited since `began_s` for a storage, or (-1) for memory."""
        if self.now_s > began_s:
            self.stall_s += self.now_s - began_s
            if self.detail:
                self.device.events.append(
                    Event(began_s, self.now_s, "compute", "stall", index, storage)
                )

"""Which of the known schedules a forward pass follows while it runs."""

from collections.abc import Sequence

from planezip.execution.schedule import Schedule
from planezip.execution.sequence import Pack
from planezip.execution.tape import Tape


class Following:
    """Holds a pass against the sequences of schedules, operator by operator.

    Args:
        schedules: the likeliest first.

    Attributes:
        schedule: the one that fits so far, None if there is none.
        left: the latest one that did not fit any more, or None.
    """

    def __init__(self, schedules: Sequence[Schedule], tape: Tape, packs: list[Pack]) -> None:
        self._tape, self._packs = tape, packs
        self._schedules = [
            s
            for s in schedules
            if s.environment == tape.environment and s.sequence.accumulates == tape.accumulates
        ]
        self.schedule = self._schedules[0] if self._schedules else None
        self.left: Schedule | None = None

    def fits_op(self, index: int) -> bool:
        """Whether the schedule foresaw operator number `index`; if not, another one is chosen."""
        schedule = self.schedule
        if schedule is None or schedule.sequence.has_op(index, self._tape.ops[index]):
            return True
        return self._look_further()

    def fits_pack(self, index: int) -> bool:
        """The same of what autograd saved as number `index`."""
        schedule = self.schedule
        if schedule is None or schedule.sequence.has_pack(index, self._packs[index]):
            return True
        return self._look_further()

    def lets_stay(self, v: int) -> bool:
        """Whether the schedule lets a dropped value stay that the replay of another one makes."""
        return self.schedule is not None and v in self.schedule.stays

    def _look_further(self) -> bool:
        self.left = self.schedule
        self.schedule = next((s for s in self._schedules if self._fits(s)), None)
        return False

    def _fits(self, schedule: Schedule) -> bool:
        sequence = schedule.sequence
        return all(sequence.has_op(i, op) for i, op in enumerate(self._tape.ops)) and all(
            sequence.has_pack(i, pack) for i, pack in enumerate(self._packs)
        )

"""The sequences of operators that a session has met, and how far it has come with each.

A new sequence is profiled with every operator run again, to see which of them compute the same
bits; the very first one a second time, to measure times that are not those of a cold machine. Then
it has a plan. The first pass of the plan is measured; one that takes more than the budget is
planned again.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from planezip.errors import OverBudgetError
from planezip.execution.copies import Copier, Work
from planezip.execution.forward import Forward
from planezip.execution.journal import Journal
from planezip.execution.profile import Profile
from planezip.execution.schedule import Schedule, sequence_of
from planezip.execution.sequence import Sequence

Mode = Literal["verify", "time", "follow"]
Plans = Callable[[Profile, Work, Work, int], Schedule]
"""Makes a profile's schedule from the copies' work and the bytes that earlier ones exceeded."""

# Passes without a plan that wait for one that was not known to come again. It may have been the
# only one of its kind, as when DistributedDataParallel finds out in which order gradients come; or
# one of many that take turns. So each wait that was in vain makes the next one longer.
PATIENCE, LONGEST_PATIENCE = 2, 16
ATTEMPTS = 2  # passes without a plan, waiting for a sequence to be timed
REPLANS = 3
MOST = 63  # sequences, the latest ones; each new pass may have to be held against all of them


@dataclass(slots=True, eq=False)
class Known:
    """A sequence of operators that has a plan.

    Attributes:
        profile: what the plan was made from.
        timed: its times are those of a machine that has warmed up.
        measured: the plan's first pass, None before that.
        seconds: forward and backward of later passes, the latest ones.
        attempts: passes that were to time it.
        excess_bytes: by how much earlier plans were exceeded.
        replans: how often it was planned again for that.
    """

    profile: Profile
    sequence: Sequence
    schedule: Schedule
    work: tuple[Work, Work]
    timed: bool
    attempts: int = 0
    measured: Journal | None = None
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=32))
    excess_bytes: int = 0
    replans: int = 0

    @property
    def step_s(self) -> float | None:
        """Forward and backward of a planned pass, None before there was one that only ran."""
        return median(self.seconds) if self.seconds else None


class Sequences:
    """All that are known, the likeliest first.

    Args:
        plans: makes schedules.
        budget: gives the budget in bytes for a peak without eviction in bytes.
        copier: whose work is measured.

    Attributes:
        known: those that have a plan.
        refused: why there is no plan within the budget, or None.
    """

    def __init__(self, plans: Plans, budget: Callable[[int], int], copier: Copier) -> None:
        self.known: list[Known] = []
        self.refused: OverBudgetError | None = None
        self._plans, self._budget, self._copier = plans, budget, copier
        self._patience, self._next_patience = 1, PATIENCE
        self._work = (Work(), Work())

    def mode(self) -> Mode:
        """How to run the next pass."""
        if self._patience or not self.known:
            return "verify"
        likeliest = self.known[0]
        return "follow" if likeliest.timed or likeliest.attempts >= ATTEMPTS else "time"

    def begin(self, mode: Mode) -> tuple[list[Schedule], Journal | None]:
        """What the next pass follows and what notes it."""
        self._work = (self._copier.out, self._copier.back)
        if mode == "time":
            self.known[0].attempts += 1
        if mode != "follow":
            return [], None
        journal = Journal() if self.known[0].measured is None else None
        return [known.schedule for known in self.known], journal

    def forward_over(self, forward: Forward) -> None:
        """A forward pass is over: did it follow a plan?"""
        if forward.schedule is not None:
            # The plan that fitted last is the likeliest to fit next.
            self.known.sort(key=lambda known: known.schedule is not forward.schedule)
        elif forward.profile is None:
            self._wait()

    def profiled(self, profile: Profile, verified: bool) -> None:
        """An iteration without a plan is over.

        Raises:
            OverBudgetError: no plan fits; it names the smallest budget that one was found for.
        """
        self._patience = max(0, self._patience - 1)
        sequence = sequence_of(profile)
        known = next((k for k in self.known if k.sequence.is_like(sequence)), None)
        if known is None and not verified:
            self._wait()
        elif known is None:
            self._patience, self._next_patience = 0, PATIENCE
            self._add(profile, sequence)
        elif not known.timed:
            self._time(known, profile)

    def _wait(self) -> None:
        """Verify passes for a while, in case that one which was not known comes again."""
        self._patience = self._next_patience
        self._next_patience = min(2 * self._patience, LONGEST_PATIENCE)

    def _add(self, profile: Profile, sequence: Sequence) -> None:
        work = (self._copier.out, self._copier.back)
        try:
            schedule = self._plans(profile, *work, 0)
        except OverBudgetError as error:
            self.refused = error
            raise
        del self.known[MOST:]
        self.known.insert(0, Known(profile, sequence, schedule, work, timed=bool(self.known)))

    def _time(self, known: Known, profile: Profile) -> None:
        """Plan again with times of a machine that is warm.

        Whatever disturbs a pass makes it longer, so the shorter time of two is the better one.
        """
        for v in known.sequence.unrepeatable:
            profile.tape.values[v].repeatable = False
        profile.take_shorter_times(known.profile)
        known.timed = True
        out, back = self._copier.out - self._work[0], self._copier.back - self._work[1]
        known.work = (out, back) if out.seconds and back.seconds else known.work
        known.profile = profile
        # With other times the heuristics may find nothing; the plan that there is stays then.
        with suppress(OverBudgetError):
            known.schedule = self._plans(profile, *known.work, 0)

    def measured(self, forward: Forward, measured: Journal) -> None:
        """A planned pass that was measured is over."""
        known = self._of(forward)
        if known is None or known.measured is not None:
            return
        known.measured = measured
        excess_bytes = measured.peak_bytes - self._budget(known.schedule.plain_peak_bytes)
        if excess_bytes > 0 and known.replans < REPLANS:
            self._plan_again(known, excess_bytes)

    def _plan_again(self, known: Known, excess_bytes: int) -> None:
        known.replans += 1
        known.excess_bytes += excess_bytes
        try:
            known.schedule = self._plans(known.profile, *known.work, known.excess_bytes)
        except OverBudgetError:
            return  # the plan that there is stays, and the report says what it takes
        known.measured = None
        known.seconds.clear()

    def ran(self, forward: Forward, seconds: float) -> None:
        """A planned pass that was not measured has taken so long."""
        known = self._of(forward)
        if known is not None and not forward.store.overflowed:
            known.seconds.append(seconds)

    def _of(self, forward: Forward) -> Known | None:
        return next((k for k in self.known if k.schedule is forward.schedule), None)

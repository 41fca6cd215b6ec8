"""Plans in fractions: the linear program behind the bound and behind rounded plans.

Candidates are kept, swapped and dropped in fractions. What every plan must respect stays: the
memory at some positions, the time that both copy queues have, and the operators that run again.
docs/bound.md states the constraints and why they hold.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from planezip.planning.linear import Rows
from planezip.planning.problem import Problem
from planezip.planning.replay import NotReplayableError, ReplayCosts, replay_positions

Indices = np.ndarray[tuple[int], np.dtype[np.int64]]
Seconds = np.ndarray[tuple[int], np.dtype[np.float64]]

# More of either make the bound tighter and the program larger; any number of them is sound.
POSITIONS = 24
DEADLINES = 12


class Fractions(NamedTuple):
    """The optimum of the relaxation.

    Attributes:
        least_s: the least time of replays and stalls together; infinite if nothing fits.
        swapped, dropped: by rank, the share of each candidate.
    """

    least_s: float
    swapped: Seconds
    dropped: Seconds


class Relaxation:
    """Variables: keep is the rest; swap and drop by candidate, absence by (position, candidate),
    rerun by operator, and the total seconds of stalls and of replays.

    Args:
        positions: how many to hold memory at; the more, the tighter.
        shared: what several replays need runs once for all of them, which is what makes the
            optimum a bound. Otherwise every dropped candidate pays its replay alone, as it does
            where what they share was not saved.
    """

    def __init__(
        self,
        problem: Problem,
        budget_bytes: int,
        ratios: Mapping[int, float],
        positions: int = POSITIONS,
        shared: bool = True,
    ) -> None:
        self.problem, self.budget_bytes = problem, budget_bytes
        self._positions_held, self._shared = positions, shared
        self._rerun: dict[int, int] = {}  # position -> its variable
        self.candidates = list(problem.candidates.values())
        count = len(self.candidates)
        self.rows = Rows()
        self.swap = self.rows.variables(count)
        self.drop = self.rows.variables(count)
        (self.stall,) = self.rows.variables(1, upper=np.inf)
        (self.replay,) = self.rows.variables(1, upper=np.inf)
        p, size = problem.platform, problem.bytes
        ratio = [ratios.get(c.storage, 1.0) for c in self.candidates]
        self.out_s = np.array(
            [p.copy_s(size[c.storage], r, p.d2h_bytes_per_s)
             for c, r in zip(self.candidates, ratio, strict=True)]
        )  # fmt: skip
        self.in_s = np.array(
            [p.copy_s(size[c.storage], r, p.h2d_bytes_per_s)
             for c, r in zip(self.candidates, ratio, strict=True)]
        )  # fmt: skip
        self.ready_s = np.array([c.ready_s for c in self.candidates])
        self.use_s = np.array([c.first_use_s for c in self.candidates])

    def solve(self) -> Fractions:
        """The fractions with the least time of replays and stalls together."""
        for k in range(len(self.candidates)):
            self.rows.at_most([self.swap[k], self.drop[k]], [1.0, 1.0], 1.0)
        if self._shared:
            self._run_again()
        else:
            self._run_again_alone()
        for position in self._positions():
            self._hold(int(position))
        optimum = self.rows.minimize([self.stall, self.replay])
        return Fractions(optimum.least, optimum.values[self.swap], optimum.values[self.drop])

    def _run_again(self) -> None:
        """What a dropped tensor is recomputed from runs once more, whoever else is dropped."""
        paid: dict[int, float] = {}  # variable -> seconds of replays
        for k, c in enumerate(self.candidates):
            positions = _least_replay(self.problem, c.storage)
            if positions is None:
                self.rows.at_most([self.drop[k]], [1.0], 0.0)
                continue
            for p in positions:
                if p not in self._rerun:
                    (self._rerun[p],) = self.rows.variables(1)
                    paid[self._rerun[p]] = self.problem.seconds[p]
                self.rows.at_most([self.drop[k], self._rerun[p]], [1.0, -1.0], 0.0)
        self._pay(paid)

    def _run_again_alone(self) -> None:
        """Every dropped tensor pays its own replay, as if it were dropped alone."""
        costs = ReplayCosts(self.problem)
        paid: dict[int, float] = {}
        for k, c in enumerate(self.candidates):
            if costs.can_drop(c.storage):
                paid[self.drop[k]] = costs.seconds(c.storage)
            else:
                self.rows.at_most([self.drop[k]], [1.0], 0.0)
        self._pay(paid)

    def _pay(self, paid: Mapping[int, float]) -> None:
        self.rows.at_most([*paid, self.replay], [*paid.values(), -1.0], 0.0)

    def _positions(self) -> Indices:
        """Where memory is over the budget: the largest of each of so many stretches."""
        over = np.flatnonzero(self.problem.memory > self.budget_bytes)
        stretches = np.array_split(over, min(self._positions_held, over.size))
        return np.array([part[self.problem.memory[part].argmax()] for part in stretches])

    def _hold(self, position: int) -> None:
        """Memory at one position, and the transfers that make room there."""
        problem = self.problem
        idle = np.flatnonzero(
            (problem.last_forward_uses < position) & (position < problem.first_backward_uses)
        )
        absent = np.array(self.rows.variables(idle.size), dtype=np.int64)
        sizes = [float(self.candidates[k].bytes) for k in idle]
        for a, k in zip(absent, idle, strict=True):
            self.rows.at_most([a, self.swap[k]], [1.0, -1.0], 0.0)
        # What is idle is here unless it is dropped or its copy is out.
        room = self.budget_bytes - int(problem.irreducible[position]) - sum(sizes)
        gone = [*(self.drop[k] for k in idle), *absent]
        self.rows.at_most(gone, [-size for size in (*sizes, *sizes)], room)
        now_s = float(problem.start_s[position])
        # Replays come before backward steps only.
        slack = [self.stall] if position < problem.backward_start else [self.stall, self.replay]
        for ready in _some(self.ready_s[idle]):
            late = self.ready_s[idle] >= ready
            self._fit(absent[late], self.out_s[idle[late]], slack, now_s - float(ready))
        for use in _some(self.use_s[idle]):
            soon = self.use_s[idle] <= use
            both = [self.stall, self.replay]
            self._fit(absent[soon], self.in_s[idle[soon]], both, float(use) - now_s)

    def _fit(self, absent: Indices, copy_s: Seconds, slack: list[int], window_s: float) -> None:
        self.rows.at_most([*absent, *slack], [*copy_s, *(-1.0 for _ in slack)], window_s)


def _least_replay(problem: Problem, t: int) -> list[int] | None:
    """What runs again in every plan that drops t, ascending; None if none can drop it.

    Replays come after the forward pass and read what it left: the last version of what is used
    later on, candidate or not, and the batch.
    """

    def readable(storage: int, version: int) -> bool:
        used_later = problem.uses[storage][-1] >= problem.backward_start
        return version == problem.forward_version[storage] and (used_later or version == 0)

    last = problem.forward_version[t]
    if last == 0:
        return None
    try:
        return replay_positions(problem, [(t, last)], readable)[0]
    except NotReplayableError:
        return None


def _some(times: Seconds) -> Seconds:
    """At most so many of the times, the first and last among them."""
    distinct = np.unique(times)
    chosen = np.linspace(0, distinct.size - 1, min(DEADLINES, distinct.size)).round()
    return distinct[chosen.astype(np.int64)]

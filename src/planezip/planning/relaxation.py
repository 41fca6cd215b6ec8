"""Plans in fractions: the linear program behind the bound and behind rounded plans.

Candidates are kept, swapped, dropped and perhaps compressed in place in fractions. What every plan
must respect stays: the memory at some positions, the time that both copy queues have, and the
operators that run again.
docs/bound.md states the constraints and why they hold.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from planezip.planning.departures import Indices, Seconds, departures
from planezip.planning.linear import Rows
from planezip.planning.problem import Problem
from planezip.planning.replay import NotReplayableError, ReplayCosts, replay_positions

# More of either make the bound tighter and the program larger; any number of them is sound.
POSITIONS = 24
DEADLINES = 12


class Fractions(NamedTuple):
    """The optimum of the relaxation.

    Attributes:
        least_s: the least time of replays and stalls together; infinite if nothing fits.
        swapped, dropped, compressed: by rank, the share of each candidate.
    """

    least_s: float
    swapped: Seconds
    dropped: Seconds
    compressed: Seconds


class Relaxation:
    """Variables: keep is the rest; swap, drop and compress by candidate, absence by (position,
    candidate, swap or compress), rerun by operator, and the total seconds of stalls and of replays.

    Args:
        positions: how many to hold memory at; the more, the tighter.
        shared: what several replays need runs once for all of them, which is what makes the
            optimum a bound. Otherwise every dropped candidate pays its replay alone, as it does
            where what they share was not saved.
        in_place: candidates may be compressed in place.
    """

    def __init__(
        self,
        problem: Problem,
        budget_bytes: int,
        ratios: Mapping[int, float],
        positions: int = POSITIONS,
        shared: bool = True,
        in_place: bool = False,
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
        self.compress = self.rows.variables(count if in_place else 0)
        self.away = departures(problem, ratios, self.swap, self.compress)

    def solve(self) -> Fractions:
        """The fractions with the least time of replays and stalls together."""
        for k in range(len(self.candidates)):
            shares = [self.swap[k], self.drop[k], *self.compress[k : k + 1]]
            self.rows.at_most(shares, [1.0] * len(shares), 1.0)
        if self._shared:
            self._run_again()
        else:
            self._run_again_alone()
        for position in self._positions():
            self._hold(int(position))
        optimum = self.rows.minimize([self.stall, self.replay])
        compressed = optimum.values[self.compress] if self.compress else np.zeros(len(self.swap))
        values = optimum.values
        return Fractions(optimum.least, values[self.swap], values[self.drop], compressed)

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
        ways = np.flatnonzero(np.isin(self.away.candidate, idle))
        away = self.away.only(ways)
        absent = np.array(self.rows.variables(ways.size), dtype=np.int64)
        sizes = [float(self.candidates[k].bytes) for k in idle]
        for a, share in zip(absent.tolist(), away.share.tolist(), strict=True):
            self.rows.at_most([a, share], [1.0, -1.0], 0.0)
        # What is idle is here unless it is dropped, its copy is out, or it is compressed.
        room = self.budget_bytes - int(problem.irreducible[position]) - sum(sizes)
        gone = [*(self.drop[k] for k in idle), *absent]
        self.rows.at_most(gone, [-float(size) for size in (*sizes, *away.bytes)], room)
        now_s = float(problem.start_s[position])
        # Replays come before backward steps only.
        slack = [self.stall] if position < problem.backward_start else [self.stall, self.replay]
        # The times of the swaps, which come first, whatever else there is: so the larger class
        # never has the higher bound.
        for start in _some(away.start_s[: idle.size]):
            late = away.start_s >= start
            self._fit(absent[late], away.out_s[late], slack, now_s - float(start))
        for use in _some(away.use_s):
            soon = away.use_s <= use
            both = [self.stall, self.replay]
            self._fit(absent[soon], away.in_s[soon], both, float(use) - now_s)

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

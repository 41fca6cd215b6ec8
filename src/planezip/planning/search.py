"""Local search by trials: evict a tensor in a way, exchange two, let one stay, shift a prefetch.

Every start is searched for a while, then the best again and again, each time from a little more
tolerance down to none (threshold accepting): a plan that is slower than the one before it by less
than the tolerance is accepted. Nothing depends on the limits, so that a longer search begins as a
shorter one does; and nothing but sums and products of floating-point numbers decides, so that
it goes the same way on every machine.
"""

from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple

from planezip.planning.problem import Problem
from planezip.planning.trial import COMPRESS, DROP, KEEP, SWAP, Decisions, Trial

STARTS = 16
SHORT, LONG = 600, 5_000  # trials of a round: of each start, of the best
TOLERANCE = {SHORT: 2e-5, LONG: 5e-5}  # at the beginning of a round, of the duration
NEAR = 12  # neighbours in order of production are mostly of one block
SHIFTS = (-30, -10, -3, -1, 1, 3, 10, 30)  # of a prefetch, in steps
# How far ahead of its use a tensor may be recomputed along, in positions; a layer has about ten.
EARLY = (0, 15, 40, 70, 100, 150, 220, 320, 1_000_000)

Change = tuple[str, int, int]  # field of Decisions, rank, value


class Found(NamedTuple):
    """Decisions that fit the budget, how long an iteration takes under them, and whose they are."""

    duration_s: float
    decisions: Decisions
    origin: str


class Exhausted(Exception):
    """The search has made as many trials as it may, or its time is up."""


class Counter:
    """Makes trials until it may not any more, and remembers the fastest.

    Attributes:
        made: trials so far.
        best: the fastest that fits, None before there is one.
    """

    def __init__(self, trial: Trial, limit: int, expired: Callable[[], bool]) -> None:
        self._trial, self._limit, self._expired = trial, limit, expired
        self.made = 0
        self.best: Found | None = None

    def run(self, d: Decisions, origin: str) -> float:
        """Duration of the iteration, infinite if it does not fit the budget.

        Raises:
            Exhausted: no more trials; d was not tried.
        """
        self.check()
        self.made += 1
        outcome = self._trial.run(d)
        if outcome.excess_bytes:
            return float("inf")
        self.offer(Found(outcome.duration_s, d, origin))
        return outcome.duration_s

    def offer(self, found: Found) -> None:
        """Remember it if it is faster than all before; its decisions may change afterwards."""
        if self.best is None or found.duration_s < self.best.duration_s:
            self.best = found._replace(decisions=found.decisions.copy())

    def check(self) -> None:
        """Exhausted if no more trials may be made."""
        if self.made >= self._limit or self._expired():
            raise Exhausted


class Moves:
    """Draws moves at random. Large tensors are drawn more often: the root of the size counts.

    Args:
        can_drop: by rank.
        can_compress: by rank; empty if nothing is to be compressed in place.
    """

    def __init__(
        self,
        problem: Problem,
        can_drop: Iterable[bool],
        seed: int,
        can_compress: Sequence[bool] = (),
    ) -> None:
        self._random = Random(seed).random
        self._can_drop, self._can_compress = list(can_drop), can_compress
        self._ways = 4 if any(can_compress) else 3
        sizes = [c.bytes for c in problem.candidates.values()]
        self._weights = list(accumulate(size**0.5 for size in sizes))

    def draw(self, d: Decisions) -> list[Change]:
        """One move, as changes; empty if what was drawn is none."""
        k = self._rank()
        kind = self._random()
        if kind < 0.3:
            other = 1 + self._below(self._ways - 1)
            return self._act(k, (int(d.actions[k]) + other) % self._ways)
        if kind < 0.8:
            return self._exchange(d, k, self._partner(k))
        if kind < 0.9:
            return self._stay(k) if d.actions[k] == DROP else []
        shifted = max(0, int(d.delays[k]) + SHIFTS[self._below(len(SHIFTS))])
        return [("delays", k, shifted)] if d.actions[k] in (SWAP, COMPRESS) else []

    def _exchange(self, d: Decisions, k: int, j: int) -> list[Change]:
        if not 0 <= j < len(self._can_drop) or d.actions[k] == d.actions[j]:
            return []
        first, second = self._act(k, int(d.actions[j])), self._act(j, int(d.actions[k]))
        return first + second if first and second else []

    def _act(self, k: int, action: int) -> list[Change]:
        """Empty if that cannot be."""
        if action == COMPRESS and not self._can_compress[k]:
            return []
        if action != DROP:
            return [("actions", k, action)]
        if not self._can_drop[k]:
            return []
        return [("actions", k, DROP), *self._stay(k)]

    def _stay(self, k: int) -> list[Change]:
        stays = self._random() < 0.9
        early = EARLY[self._below(len(EARLY))] if stays else 0
        return [("stays", k, int(stays)), ("early", k, early)]

    def _partner(self, k: int) -> int:
        if self._random() < 0.5:
            return self._rank()
        return k + self._below(2 * NEAR + 1) - NEAR

    def _rank(self) -> int:
        drawn = bisect(self._weights, self._random() * self._weights[-1])
        return min(drawn, len(self._weights) - 1)

    def _below(self, count: int) -> int:
        return int(self._random() * count)


def search(starts: Sequence[Found], moves: Moves, counter: Counter) -> None:
    """Search until the counter is exhausted.

    Args:
        starts: fastest first, all of them known to the counter.
    """
    if not starts or (starts[0].decisions.actions == KEEP).all():
        return  # nothing to start from, or nothing faster than keeping everything
    try:
        for start in starts[:STARTS]:
            _round(start, SHORT, moves, counter)
        while counter.best:
            _round(counter.best, LONG, moves, counter)
    except Exhausted:
        return


def _round(start: Found, trials: int, moves: Moves, counter: Counter) -> None:
    """So many trials from the start on."""
    d, duration_s = start.decisions.copy(), start.duration_s
    tolerance_s = TOLERANCE[trials] * duration_s
    for i in range(trials):
        changes = moves.draw(d)
        if not changes:
            continue
        before = _apply(d, changes)
        tried_s = counter.run(d, start.origin)
        if tried_s <= duration_s + tolerance_s * (1 - i / trials):
            duration_s = tried_s
        else:
            _apply(d, reversed(before))


def _apply(d: Decisions, changes: Iterable[Change]) -> list[Change]:
    """Make the changes; what was there before, in the same order."""
    before = []
    for field, k, value in changes:
        array = getattr(d, field)
        before.append((field, k, int(array[k])))
        array[k] = value
    return before

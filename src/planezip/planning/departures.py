"""The ways in which candidates are away for a time, as columns of the relaxation's variables."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from planezip.planning.problem import Problem
from planezip.records import compressed_bytes

Indices = np.ndarray[tuple[int], np.dtype[np.int64]]
Seconds = np.ndarray[tuple[int], np.dtype[np.float64]]


class Departures(NamedTuple):
    """The ways in which candidates are away for a time: as many as candidates, or twice that.

    Attributes:
        candidate: rank of the candidate.
        share: the variable for the share of it that goes this way.
        bytes: what its absence gains.
        out_s, in_s: seconds on both queues.
        start_s: when it may leave, without stalls.
        use_s: when it must be back, likewise.
    """

    candidate: Indices
    share: Indices
    bytes: Indices
    out_s: Seconds
    in_s: Seconds
    start_s: Seconds
    use_s: Seconds

    def only(self, which: Indices) -> "Departures":
        """Those at some indices."""
        return Departures(
            self.candidate[which],
            self.share[which],
            self.bytes[which],
            self.out_s[which],
            self.in_s[which],
            self.start_s[which],
            self.use_s[which],
        )


def departures(
    problem: Problem,
    ratios: Mapping[int, float],
    swap: Sequence[int],
    compress: Sequence[int] = (),
) -> Departures:
    """Every candidate's swap and then, if there are variables for it, its compression in place.

    Args:
        ratios: candidate -> compression ratio; left-out ones count as 1.
        swap, compress: by rank, the variable for the share of the candidate that goes this way.
    """
    p = problem.platform
    ways: list[tuple[int, int, int, float, float, float]] = []
    for k, c in enumerate(problem.candidates.values()):
        ratio = ratios.get(c.storage, 1.0)
        links = p.d2h_bytes_per_s, p.h2d_bytes_per_s
        out_s, in_s = (p.copy_s(c.bytes, ratio, link) for link in links)
        ways.append((k, swap[k], c.bytes, out_s, in_s, c.ready_s))
    for k, c in enumerate(problem.candidates.values() if compress else ()):
        saved = c.bytes - compressed_bytes(c.bytes, ratios.get(c.storage, 1.0))
        over_s = float(problem.start_s[c.last_forward_use + 1])
        ways.append((k, compress[k], saved, *p.compress_s(c.bytes), over_s))
    use_s = [c.first_use_s for c in problem.candidates.values()]

    def integers(i: int) -> Indices:
        return np.array([way[i] for way in ways], dtype=np.int64)

    def seconds(i: int) -> Seconds:
        return np.array([way[i] for way in ways], dtype=np.float64)

    return Departures(
        integers(0),
        integers(1),
        integers(2),
        seconds(3),
        seconds(4),
        seconds(5),
        np.array([use_s[way[0]] for way in ways], dtype=np.float64),
    )

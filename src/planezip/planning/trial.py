"""How long an iteration takes under decisions, found in a fraction of a millisecond.

The native engine does what compiling the program, placing the prefetches and simulating do, to
the last bit (a property test holds it to them); it makes no plan and no timeline.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planezip import _native
from planezip.planning.draft import HostPool
from planezip.planning.layout import Layout
from planezip.planning.problem import Problem
from planezip.records import Action, compressed_bytes

KEEP, SWAP, DROP, COMPRESS = range(4)
ACTIONS: tuple[Action, ...] = ("keep", "swap", "drop", "compress")
"""What the numbers in Decisions.actions mean."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What a plan decides about each candidate, by rank (planning.problem).

    Attributes:
        actions: KEEP, SWAP, DROP or COMPRESS, uint8.
        stays: whether it stays when another one's replay recomputes it, uint8; means something
            for what is dropped only.
        early: at how many positions before its first use another one's replay may recompute it
            along, int32 (planning.program); means something for what stays only.
        delays: by how many steps its prefetch is later than the earliest point for which there is
            memory, int32; means something for what is swapped or compressed only.
    """

    actions: NDArray[np.uint8]
    stays: NDArray[np.uint8]
    early: NDArray[np.int32]
    delays: NDArray[np.int32]

    @staticmethod
    def of(problem: Problem, actions: Mapping[int, Action], stays: Iterable[int]) -> "Decisions":
        """Those of a plan whose prefetches are all as early as memory allows."""
        chosen = np.array([ACTIONS.index(actions[t]) for t in problem.candidates], dtype=np.uint8)
        staying = np.zeros(chosen.size, dtype=np.uint8)
        staying[[problem.rank[t] for t in stays]] = 1
        early, delays = np.zeros((2, chosen.size), dtype=np.int32)
        return Decisions(chosen, staying, early, delays)

    def copy(self) -> "Decisions":
        return Decisions(
            self.actions.copy(), self.stays.copy(), self.early.copy(), self.delays.copy()
        )


class Outcome(NamedTuple):
    """One iteration; `excess_bytes` is 0 if it fits the budget (and the pool), else the rest is
    void."""

    duration_s: float
    recompute_s: float
    stall_s: float
    peak_bytes: int
    excess_bytes: int


class Trial:
    """Tries decisions for one problem, with given transfers and a budget.

    Args:
        ratios: candidate -> compression ratio; left-out ones count as 1.
        pool: what bounds the swaps, None if nothing does.

    Attributes:
        can_compress: by rank, whether compressing in place shrinks the candidate.
    """

    def __init__(
        self,
        problem: Problem,
        layout: Layout,
        ratios: Mapping[int, float],
        budget_bytes: int,
        pool: HostPool | None = None,
    ) -> None:
        self._native = _native.Trial(_arrays(problem, layout))
        p, found = problem.platform, problem.candidates.values()
        sizes = [(c.bytes, ratios.get(c.storage, 1.0)) for c in found]
        self._seconds = (
            np.array([p.copy_s(*size, p.d2h_bytes_per_s) for size in sizes], dtype=np.float64),
            np.array([p.copy_s(*size, p.h2d_bytes_per_s) for size in sizes], dtype=np.float64),
            np.array([p.compress_s(c.bytes)[0] for c in found], dtype=np.float64),
            np.array([p.compress_s(c.bytes)[1] for c in found], dtype=np.float64),
        )
        self._resident = np.array([compressed_bytes(*size) for size in sizes], dtype=np.int64)
        self._budget_bytes, self._pool = budget_bytes, pool
        pooled = [pool.bytes_of[t] for t in problem.candidates] if pool else []
        self._pooled_bytes = np.array(pooled, dtype=np.int64)
        self.can_compress = [compressed_bytes(*size) < size[0] for size in sizes]

    def run(self, d: Decisions) -> Outcome:
        """One iteration. What cannot be replayed must not be dropped, nor compressed what does not
        shrink."""
        if self._pool:
            pooled_bytes = int(self._pooled_bytes[d.actions == SWAP].sum())
            if pooled_bytes > self._pool.capacity_bytes:
                return Outcome(0.0, 0.0, 0.0, 0, pooled_bytes - self._pool.capacity_bytes)
        of_plan = (d.actions, d.stays, d.early, d.delays)
        budget = self._budget_bytes
        return Outcome(*self._native.run(*of_plan, *self._seconds, self._resident, budget))


def _arrays(problem: Problem, layout: Layout) -> dict[str, object]:
    """The problem as native/include/trial.h wants it."""
    found = problem.candidates.values()
    reads = [read for at in problem.reads for read in at]
    return {
        "seconds": np.array(problem.seconds, dtype=np.float64),
        "allocated_bytes": layout.allocated_bytes,
        "freed_bytes": layout.freed_bytes,
        "backward_start": problem.backward_start,
        "batch_bytes": sum(problem.bytes[s] for s in layout.batch),
        "reads_begin": _begins(problem.reads),
        "read_storage": _indices(s for s, _ in reads),
        "read_producer": _indices(problem.writers[s][v - 1] if v else -1 for s, v in reads),
        "read_final": np.array([problem.forward_version[s] == v for s, v in reads], dtype=np.uint8),
        "writes_begin": _begins(problem.writes),
        "write_storage": _indices(s for at in problem.writes for s in at),
        "joiners_begin": _begins(problem.joiners),
        "joiner": _indices(problem.rank[t] for at in problem.joiners for t in at),
        "bytes": np.array(problem.bytes, dtype=np.int64),
        "last_touch": _indices(layout.last_touch.get(s, -1) for s in range(len(problem.bytes))),
        "candidate_of": _indices(problem.rank.get(s, -1) for s in range(len(problem.bytes))),
        "storage": _indices(problem.candidates),
        "ready": _indices(c.ready for c in found),
        "last_forward_use": _indices(c.last_forward_use for c in found),
        "first_backward_use": _indices(c.first_backward_use for c in found),
        "last_backward_use": _indices(c.last_backward_use for c in found),
        "final_writer": _indices(c.ready for c in found),
    }


def _begins(entries: Iterable[tuple[object, ...]]) -> NDArray[np.int32]:
    sizes = [0, *(len(at) for at in entries)]
    return np.cumsum(sizes, dtype=np.int32)


def _indices(values: Iterable[int]) -> NDArray[np.int32]:
    return np.fromiter(values, dtype=np.int32)

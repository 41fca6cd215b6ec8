"""Which tensor leaves when memory runs out: Eq. 1 of the paper with compressed transfers."""

from collections.abc import Iterable, Mapping
from typing import Literal

from planezip.planning.problem import Problem
from planezip.planning.replay import NotReplayableError, replay_positions
from planezip.planning.whereabouts import Whereabouts

_LEAST_STALENESS_S = 1e-12


class EvictionScores:
    """min(C_r, C_s) / (bytes x staleness) of every saved activation in device memory (Eq. 1).

    C_r is the time of the replay if the tensor were dropped now, what else it recomputes included,
    and of copying back what it reads from the host. C_s is the slower of the tensor's two
    transfers (Eq. 2), compressed by the predicted ratio; endless without ratios.
    """

    def __init__(
        self, problem: Problem, where: Whereabouts, ratios: Mapping[int, float] | None
    ) -> None:
        self._problem, self._where = problem, where
        optimizer_start = sum(op.phase != "optimizer" for op in problem.ops)
        # Autograd tells at once what it saves. What the optimizer touches is left alone: after it
        # the weights are others, and a replay would not find the values that it found before.
        # Nor does what the program itself holds throughout leave.
        self._copy_s = {
            s: _copy_s(problem, s, ratios)
            for s in problem.trace.saved
            if problem.bytes[s]
            and problem.trace.storages[s].evictable
            and problem.uses[s][-1] < optimizer_start
        }
        self._recompute_s: dict[int, float] = {}
        self._dependants: dict[int, set[int]] = {s: set() for s in problem.uses}
        where.changed = self._forget

    def cheapest(
        self, now_s: float, pinned: Mapping[int, int]
    ) -> tuple[int, Literal["swap", "drop"]] | None:
        """What leaves next and how, None if nothing can; ties go to the lowest number."""
        where, sizes = self._where, self._problem.bytes
        best: tuple[float, int] | None = None
        for s in where.resident & self._copy_s.keys():
            if not pinned.get(s):
                cost_s = min(self.replay_s(s), self._copy_s[s][0])
                staleness_s = max(now_s - where.used_s[s], _LEAST_STALENESS_S)
                score = (cost_s / (sizes[s] * staleness_s), s)
                best = score if best is None or score < best else best
        if best is None or best[0] == float("inf"):
            return None
        s = best[1]
        return s, "swap" if self._copy_s[s][0] < self.replay_s(s) else "drop"

    def dropped_that_need(self, storages: Iterable[int]) -> set[int]:
        """Dropped tensors whose replay, if it ran now, would have to do with these storages."""
        dropped = self._where.dropped
        for t in dropped:
            self.replay_s(t)
        return {t for s in storages for t in self._dependants[s] if t in dropped}

    def replay_s(self, t: int) -> float:
        """C_r: what it takes to replay a tensor; endless if nothing recomputes it."""
        if t not in self._recompute_s:
            self._recompute_s[t] = self._measure_replay_s(t)
        return self._recompute_s[t]

    def _measure_replay_s(self, t: int) -> float:
        problem, where = self._problem, self._where
        seen = {t}

        def remains(storage: int, version: int) -> bool:
            seen.add(storage)
            return where.remains(storage, version)

        try:
            if not where.version[t]:
                raise NotReplayableError
            wanted = [(t, where.version[t])]
            positions, inputs = replay_positions(problem, wanted, remains)
        except NotReplayableError:
            cost_s = float("inf")
        else:
            cost_s = sum(problem.seconds[p] for p in positions)
            cost_s += sum(self._copy_s[s][1] for s in inputs if s not in where.resident)
        for s in seen:
            self._dependants[s].add(t)
        return cost_s

    def _forget(self, storage: int) -> None:
        for t in self._dependants[storage]:
            self._recompute_s.pop(t, None)
        self._dependants[storage].clear()


def _copy_s(
    problem: Problem, storage: int, ratios: Mapping[int, float] | None
) -> tuple[float, float]:
    """Seconds of the slower of a storage's transfers, and of the one back."""
    if ratios is None:
        return float("inf"), float("inf")
    p, size, ratio = problem.platform, problem.bytes[storage], ratios.get(storage, 1.0)
    back_s = p.copy_s(size, ratio, p.h2d_bytes_per_s)
    return max(p.copy_s(size, ratio, p.d2h_bytes_per_s), back_s), back_s

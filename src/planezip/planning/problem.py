"""A trace on a platform, prepared for planning: who writes, who reads, when, and how large.

Positions count the operators that are not views, in execution order.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from planezip.records import Op, Platform, Trace, op_seconds
from planezip.records.trace import BUDGETED_KINDS

Value = tuple[int, int]  # (storage, version): what a storage holds after so many writes


@dataclass(frozen=True, slots=True)
class Candidate:
    """A saved activation that can be evicted while it is idle (paper II-A).

    Attributes:
        ready: position of its last write (-1: the batch); no use in forward comes before it.
        last_forward_use, first_backward_use, last_backward_use: positions.
        ready_s, first_use_s: when it is final, and when backward first needs it, without stalls.
        idle_s: from the end of its last forward use to its first backward use.
    """

    storage: int
    bytes: int
    ready: int
    last_forward_use: int
    first_backward_use: int
    last_backward_use: int
    ready_s: float
    first_use_s: float
    idle_s: float


class MixedQueue(NamedTuple):
    """Where swaps and encodings stand in the queue to the host, which takes them as they may start.

    Attributes:
        rank: (candidate, in place) -> its place. A swap may start when the candidate is final, an
            encoding when its last use in forward is over.
        slack_s: by place, the time before the deadline of an empty queue.
    """

    rank: dict[tuple[int, bool], int]
    slack_s: np.ndarray[tuple[int], np.dtype[np.float64]]


class Problem:
    """Everything about (trace, platform) that planning needs and that no plan changes.

    Attributes:
        ops: operators by position.
        seconds: duration by position; `start_s` has one more entry, the end of the iteration.
        reads, writes: by position, budgeted storages only; reads are (storage, version).
        writers: storage -> positions that write it; version k was written by writers[k-1].
        forward_version: storage -> its version when the forward pass ends.
        backward_start: first position after the forward pass.
        candidates: saved storage -> Candidate, in order of production.
        rank: candidate -> its index in the arrays below, which are in order of production.
        last_forward_uses, first_backward_uses: positions by rank, int64.
        memory: activation bytes during every position without eviction, int64.
        irreducible: the same with every candidate away while it is idle.
        joiners: by position, the candidates whose last writer reads something that the operator
            there writes and that was not saved.
        forward_s, backward_s: compute time of both passes.
        out_rank, in_rank: candidate -> its place in the queue to the host and in the one back.
        out_slack_s, in_slack_s: by place, the time before the deadline of an empty queue.
    """

    def __init__(self, trace: Trace, platform: Platform) -> None:
        self.trace = trace
        self.platform = platform
        self.ops: list[Op] = [op for op in trace.ops if not op.is_view]
        seconds = op_seconds(trace, platform)
        self.seconds = [seconds[op.index] for op in self.ops]
        self.start_s = np.concatenate(([0.0], np.cumsum(self.seconds)))
        self.bytes = [s.bytes_at(platform.precision) for s in trace.storages]
        self.budgeted = [s.kind in BUDGETED_KINDS for s in trace.storages]
        self._index_accesses()
        phases = [op.phase for op in self.ops]
        self.backward_start = sum(phase == "forward" for phase in phases)
        optimizer_start = sum(phase != "optimizer" for phase in phases)
        self.forward_s = float(self.start_s[self.backward_start])
        self.backward_s = float(self.start_s[optimizer_start]) - self.forward_s
        self.forward_version = {
            s: sum(p < self.backward_start for p in self.writers.get(s, ())) for s in self.uses
        }
        self.memory = self._memory_without_eviction()
        self.candidates = self._find_candidates()
        self._index_candidates()
        self.joiners = self._find_joiners()
        self._order_queues()

    @property
    def peak_bytes(self) -> int:
        """Peak activation memory without eviction."""
        return int(self.memory.max(initial=0))

    @cached_property
    def mixed_queue(self) -> "MixedQueue":
        """The queue to the host if candidates are compressed in place as well."""
        found = self.candidates.values()
        ready = [(c.ready_s, c.storage, False) for c in found]
        over = [(float(self.start_s[c.last_forward_use + 1]), c.storage, True) for c in found]
        places = sorted(ready + over)
        rank = {(t, in_place): i for i, (_, t, in_place) in enumerate(places)}
        return MixedQueue(rank, np.array([self.forward_s - start_s for start_s, _, _ in places]))

    def _index_accesses(self) -> None:
        self.writers: dict[int, list[int]] = {}
        self.reads: list[tuple[Value, ...]] = []
        self.writes: list[tuple[int, ...]] = []
        self.uses: dict[int, list[int]] = {
            s.id: [] for s in self.trace.storages if self.budgeted[s.id]
        }
        version = dict.fromkeys(self.uses, 0)
        for position, op in enumerate(self.ops):
            self.reads.append(tuple((s, version[s]) for s in op.reads if self.budgeted[s]))
            self.writes.append(tuple(s for s in op.writes if self.budgeted[s]))
            for s in {*op.reads, *op.writes} & self.uses.keys():
                self.uses[s].append(position)
            for s in self.writes[-1]:
                version[s] += 1
                self.writers.setdefault(s, []).append(position)

    def _memory_without_eviction(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        change = np.zeros(len(self.ops) + 1, dtype=np.int64)
        for s, uses in self.uses.items():
            if not uses:
                continue
            first = 0 if self.trace.storages[s].kind == "input" else uses[0]
            change[first] += self.bytes[s]
            change[uses[-1] + 1] -= self.bytes[s]
        return np.cumsum(change)[:-1]

    def _index_candidates(self) -> None:
        found = self.candidates.values()
        self.rank = {t: k for k, t in enumerate(self.candidates)}
        self.last_forward_uses = np.array([c.last_forward_use for c in found], dtype=np.int64)
        self.first_backward_uses = np.array([c.first_backward_use for c in found], dtype=np.int64)
        self.irreducible = self.memory.copy()
        for c in found:
            self.irreducible[c.last_forward_use + 1 : c.first_backward_use] -= c.bytes

    def _find_joiners(self) -> list[tuple[int, ...]]:
        found: list[list[int]] = [[] for _ in self.ops]
        for t, c in self.candidates.items():
            for s, version in self.reads[c.ready] if c.ready >= 0 else ():
                saved = s in self.candidates and version == self.forward_version[s]
                if version > 0 and not saved:
                    found[self.writers[s][version - 1]].append(t)
        return [tuple(at) for at in found]

    def _order_queues(self) -> None:
        found = self.candidates.values()
        out = sorted(found, key=lambda c: (c.ready_s, c.storage))
        back = sorted(found, key=lambda c: (c.first_use_s, c.storage))
        self.out_rank = {c.storage: i for i, c in enumerate(out)}
        self.in_rank = {c.storage: i for i, c in enumerate(back)}
        self.out_slack_s = np.array([self.forward_s - c.ready_s for c in out])
        self.in_slack_s = np.array([c.first_use_s - self.forward_s for c in back])

    def _find_candidates(self) -> dict[int, Candidate]:
        found = {}
        for s in self.trace.saved:
            forward = [p for p in self.uses[s] if p < self.backward_start]
            backward = [p for p in self.uses[s] if p >= self.backward_start]
            written = self.writers.get(s, [])
            fixed = not self.trace.storages[s].evictable
            rewritten = any(p >= self.backward_start for p in written)
            if not backward or rewritten or self.bytes[s] == 0 or fixed:
                continue
            ready = written[-1] if written else -1
            last_forward = forward[-1] if forward else -1
            found[s] = Candidate(
                storage=s,
                bytes=self.bytes[s],
                ready=ready,
                last_forward_use=last_forward,
                first_backward_use=backward[0],
                last_backward_use=backward[-1],
                ready_s=float(self.start_s[ready + 1]),
                first_use_s=float(self.start_s[backward[0]]),
                idle_s=float(self.start_s[backward[0]] - self.start_s[last_forward + 1]),
            )
        return dict(sorted(found.items(), key=lambda item: (item[1].ready, item[0])))

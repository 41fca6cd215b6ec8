"""Algorithm 1 of the paper: fill idle link time with swaps, cover the rest with drops."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planezip.planning.draft import Draft
from planezip.planning.problem import Problem
from planezip.planning.replay import ReplayCosts, bits, replay_peak_bytes
from planezip.planning.scores import EvictionCost, Scores


class CopyQueues:
    """Both copy queues as slack before their deadlines (paper III-C).

    Device to host, in production order, must drain before the forward pass ends; host to device,
    in order of first backward use, must deliver each tensor before that use. Adding a transfer
    takes its time from every deadline behind it, so a set of transfers is feasible as long as no
    slack that it touches is negative.

    Args:
        mixed: whether there are places for encodings as well.
    """

    def __init__(self, problem: Problem, mixed: bool = False) -> None:
        self._out_rank, self._in_rank = problem.out_rank, problem.in_rank
        self._mixed_rank = problem.mixed_queue.rank if mixed else None
        # Transfers of rank >= i all start after ready_i: they must fit between it and the end.
        self._out_slack = (problem.mixed_queue.slack_s if mixed else problem.out_slack_s).copy()
        self._in_slack = problem.in_slack_s.copy()

    def admit(self, t: int, out_s: float, in_s: float, in_place: bool = False) -> bool:
        """Add t's transfers, or in mixed queues its encoding and decoding, if every deadline still
        holds."""
        rank = self._mixed_rank[t, in_place] if self._mixed_rank else self._out_rank[t]
        out = self._out_slack[: rank + 1]
        if out.min() < out_s:
            return False
        back = self._in_slack[self._in_rank[t] :]
        if back.min() < in_s:
            return False
        out -= out_s
        back -= in_s
        return True


class Link(NamedTuple):
    """What stage one fills.

    Attributes:
        order: candidates, the best to swap first.
        copy_s: candidate -> seconds out and back.
        budget_s: of transfers in the slower direction.
    """

    order: Iterable[int]
    copy_s: Mapping[int, tuple[float, float]]
    budget_s: float


def fill_link(
    draft: Draft, link: Link, target_bytes: int, queues: CopyQueues | None = None
) -> None:
    """Stage one, lines 2-7: swap in order until the link's budget or the deficit is used up.

    What is evicted already is passed over, and so is what the host has no room for.

    Args:
        queues: what is in them already; empty ones by default.
    """
    queues = queues or CopyQueues(draft.problem)
    used_s = 0.0
    for t in link.order:
        if draft.peak_bytes <= target_bytes:
            break
        if draft.actions[t] != "keep" or not draft.may_swap(t):
            continue
        out_s, in_s = link.copy_s[t]
        # One budget for both directions: it is charged with the slower of the two transfers.
        if used_s + max(out_s, in_s) <= link.budget_s and queues.admit(t, out_s, in_s):
            draft.evict(t, "swap")
            used_s += max(out_s, in_s)


def fill_engines(
    draft: Draft,
    order: Iterable[int],
    compress_s: Mapping[int, tuple[float, float]],
    target_bytes: int,
    queues: CopyQueues,
) -> None:
    """Compress in place in `order`, within the deadlines of mixed queues, until memory fits."""
    for t in order:
        if draft.peak_bytes <= target_bytes:
            break
        if draft.actions[t] != "keep" or not draft.may_compress(t):
            continue
        if queues.admit(t, *compress_s[t], in_place=True):
            draft.evict(t, "compress")


def cover_deficit(
    draft: Draft,
    target_bytes: int,
    swap_cost_s: EvictionCost | None = None,
    compress_cost_s: EvictionCost | None = None,
) -> None:
    """Stage two, lines 8-11: evict the cheapest idle tensor at the peak until memory fits.

    The score is charged recomputation over bytes times idle time (DTR's heuristic). With
    `swap_cost_s` it becomes Eq. 1: the smaller of recomputation and transfer, and the tensor is
    swapped if the transfer is cheaper. With `compress_cost_s` compressing in place is a third way,
    which gains the bytes that it saves; what is compressed may be swapped or dropped after all.
    Ties go to the tensor produced first. A drop whose replay would not fit the budget is skipped,
    and so is a swap that the host has no room for. Where replays keep what they recompute, a
    dropped tensor that is back at the peak before its own use may be freed again instead, at the
    cost of recomputing it once more.
    """
    scores, room = Scores(draft, swap_cost_s, compress_cost_s), _ReplayRoom(draft)
    while draft.peak_bytes > target_bytes:
        choice = scores.cheapest()
        if choice is None:
            return
        t, action = choice
        if action == "free":
            draft.free_after_replays(t)
        elif action == "drop" and not room.fits(t, target_bytes):
            scores.forbid_drop(t)
            continue
        elif action == "swap" and not draft.may_swap(t):
            scores.forbid_swap(t)
            continue
        else:
            scores.update(draft.evict(t, action))
        scores.update((t,))


class _ReplayRoom:
    """Whether a replay fits, judged by the memory that no eviction can remove.

    A half-made plan still holds what later steps will evict; testing against it would reject
    nearly every drop. Every candidate is taken as absent while idle, except what the replay reads.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._peaks: dict[tuple[int, int], int] = {}

    def fits(self, t: int, budget_bytes: int) -> bool:
        """Test t's replay and that of every dropped tensor that would come to replay t."""
        costs = self._draft.costs
        if not self._fits(costs, t, t, costs.frontier[t], budget_bytes):
            return False
        return costs.kept or all(
            self._fits(costs, d, t, (costs.frontier[d] - {t}) | costs.frontier[t], budget_bytes)
            for d in costs.dropped_dependants(t)
        )

    def _fits(
        self, costs: ReplayCosts, t: int, also: int, frontier: frozenset[int], budget_bytes: int
    ) -> bool:
        """Whether the replay of t fits if it replays `also` as well."""
        problem = self._draft.problem
        at = problem.candidates[t].first_backward_use
        room = budget_bytes - int(problem.irreducible[at]) + problem.bytes[t]
        for s in frontier:
            c = problem.candidates[s]
            if not c.first_backward_use <= at <= c.last_backward_use:
                room -= c.bytes
        # What a replay writes at most is known without laying it out, and mostly fits.
        if costs.written_bytes[t] + (costs.written_bytes[also] if also != t else 0) <= room:
            return True
        return self._peak_bytes(costs.positions[t] | costs.positions[also], t) <= room

    def _peak_bytes(self, positions: int, t: int) -> int:
        if (positions, t) not in self._peaks:
            self._peaks[positions, t] = replay_peak_bytes(self._draft.problem, bits(positions), t)
        return self._peaks[positions, t]

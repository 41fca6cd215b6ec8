"""Algorithm 1 of the paper: fill idle link time with swaps, cover the rest with drops."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from planezip.planning.problem import Candidate, Problem
from planezip.planning.replay import ReplayCosts, replay_peak_bytes
from planezip.records import Action

Int64 = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(slots=True)
class Draft:
    """Actions under construction and the memory that they leave.

    Attributes:
        actions: candidate -> action; all start as "keep".
        memory: activation bytes during every position if `actions` were carried out at once.
    """

    problem: Problem
    costs: ReplayCosts
    actions: dict[int, Action] = field(init=False)
    memory: Int64 = field(init=False)

    def __post_init__(self) -> None:
        self.actions = dict.fromkeys(self.problem.candidates, "keep")
        self.memory = self.problem.memory.copy()

    @property
    def peak_bytes(self) -> int:
        return int(self.memory.max(initial=0))

    def evict(self, t: int, action: Action) -> None:
        """Swap or drop t: its bytes leave for the time in which it is idle."""
        self.actions[t] = action
        candidate = self.problem.candidates[t]
        self.memory[candidate.last_forward_use + 1 : candidate.first_backward_use] -= (
            candidate.bytes
        )
        if action == "drop":
            self.costs.drop(t)

    def idle_at_peak(self) -> list[Candidate]:
        """Kept candidates that are idle where memory is largest."""
        peak = int(self.memory.argmax())
        return [
            c
            for t, c in self.problem.candidates.items()
            if self.actions[t] == "keep" and c.last_forward_use < peak < c.first_backward_use
        ]


class CopyQueues:
    """Both copy queues as slack before their deadlines (paper III-C).

    Device to host, in production order, must drain before the forward pass ends; host to device,
    in order of first backward use, must deliver each tensor before that use. Adding a transfer
    takes its time from every deadline behind it, so a set of transfers is feasible as long as no
    slack that it touches is negative.
    """

    def __init__(self, problem: Problem) -> None:
        ready = {t: c.ready_s for t, c in problem.candidates.items()}
        first_use = {t: c.first_use_s for t, c in problem.candidates.items()}
        self._out_order = sorted(ready, key=lambda t: (ready[t], t))
        self._out_rank = {t: i for i, t in enumerate(self._out_order)}
        self._in_order = sorted(first_use, key=lambda t: (first_use[t], t))
        self._in_rank = {t: i for i, t in enumerate(self._in_order)}
        # Transfers of rank >= i all start after ready_i: they must fit between it and the end.
        self._out_slack = np.array([problem.forward_s - ready[t] for t in self._out_order])
        self._in_slack = np.array([first_use[t] - problem.forward_s for t in self._in_order])

    def admit(self, t: int, out_s: float, in_s: float) -> bool:
        """Add t's transfers if every deadline still holds."""
        out = self._out_slack[: self._out_rank[t] + 1]
        back = self._in_slack[self._in_rank[t] :]
        if out.min() < out_s or back.min() < in_s:
            return False
        out -= out_s
        back -= in_s
        return True


def fill_link(
    draft: Draft,
    order: Iterable[int],
    copy_s: Mapping[int, tuple[float, float]],
    link_budget_s: float,
    target_bytes: int,
) -> None:
    """Stage one, lines 2-7: swap in `order` until the link budget or the deficit is used up."""
    queues = CopyQueues(draft.problem)
    used_s = 0.0
    for t in order:
        if draft.peak_bytes <= target_bytes:
            break
        out_s, in_s = copy_s[t]
        # One budget for both directions: it is charged with the slower of the two transfers.
        if used_s + max(out_s, in_s) <= link_budget_s and queues.admit(t, out_s, in_s):
            draft.evict(t, "swap")
            used_s += max(out_s, in_s)


SwapCost = Callable[[Candidate], float]


def cover_deficit(draft: Draft, target_bytes: int, swap_cost_s: SwapCost | None = None) -> None:
    """Stage two, lines 8-11: evict the cheapest idle tensor at the peak until memory fits.

    The score is charged recomputation over bytes times idle time (DTR's heuristic). With
    `swap_cost_s` it becomes Eq. 1: the smaller of recomputation and transfer, and the tensor is
    swapped if the transfer is cheaper. Ties go to the tensor produced first. A drop whose replay
    would not fit the budget is skipped.
    """
    problem, costs = draft.problem, draft.costs
    room = _ReplayRoom(problem)
    skipped: set[int] = set()
    while draft.peak_bytes > target_bytes:
        best: tuple[float, int, Action] | None = None
        for c in draft.idle_at_peak():
            choice = _cheapest(c, costs, swap_cost_s, skipped)
            if choice is not None:
                score = (choice[0] / (c.bytes * max(c.idle_s, 1e-12)), c.storage, choice[1])
                if best is None or score[0] < best[0]:
                    best = score
        if best is None:
            return
        _, t, action = best
        if action == "drop" and not room.fits(t, costs, target_bytes):
            skipped.add(t)
            continue
        draft.evict(t, action)


def _cheapest(
    c: Candidate, costs: ReplayCosts, swap_cost_s: SwapCost | None, skipped: set[int]
) -> tuple[float, Action] | None:
    options: list[tuple[float, Action]] = []
    if costs.can_drop(c.storage) and c.storage not in skipped:
        options.append((costs.charge_s(c.storage), "drop"))
    if swap_cost_s is not None:
        options.append((swap_cost_s(c), "swap"))
    return min(options, key=lambda option: option[0], default=None)


class _ReplayRoom:
    """Whether a replay fits, judged by the memory that no eviction can remove.

    A half-made plan still holds what later steps will evict; testing against it would reject
    nearly every drop. Every candidate is taken as absent while idle, except what the replay reads.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._irreducible = problem.memory.copy()
        for c in problem.candidates.values():
            self._irreducible[c.last_forward_use + 1 : c.first_backward_use] -= c.bytes

    def fits(self, t: int, costs: ReplayCosts, budget_bytes: int) -> bool:
        """Test t's replay and that of every dropped tensor that would come to replay t."""
        if not self._fits(t, costs.positions[t], costs.frontier[t], budget_bytes):
            return False
        return all(
            self._fits(
                d,
                costs.after_drop(t, d),
                (costs.frontier[d] - {t}) | costs.frontier[t],
                budget_bytes,
            )
            for d in costs.dropped_dependants(t)
        )

    def _fits(
        self, t: int, positions: frozenset[int], frontier: frozenset[int], budget_bytes: int
    ) -> bool:
        problem = self._problem
        at = problem.candidates[t].first_backward_use
        extra = replay_peak_bytes(problem, sorted(positions), t) - problem.bytes[t]
        for s in frontier:
            c = problem.candidates[s]
            if not c.first_backward_use <= at <= c.last_backward_use:
                extra += c.bytes
        return int(self._irreducible[at]) + extra <= budget_bytes

"""Ways to choose actions, which candidate plans are made from (paper III-C, IV)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from planezip.planning.algorithm1 import Link, cover_deficit, fill_link
from planezip.planning.draft import Draft
from planezip.planning.planner import Planner
from planezip.planning.problem import Candidate
from planezip.planning.scores import EvictionCost

Decide = Callable[[Draft, int], None]  # fill in the draft's actions for a target in bytes
Stages = Callable[[Draft, Link, int], None]

LINK_FRACTIONS = (1.0, 0.75, 0.5, 0.25)
RANKINGS = ("recompute/copy", "bytes/copy", "recompute/bytes")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to choose actions; `meets_deadlines`: it swaps only what both queues can hide."""

    name: str
    decide: Decide
    meets_deadlines: bool = True


def recompute_only() -> Recipe:
    """Stage two alone: the RECOMP policy (DTR's heuristic)."""
    return Recipe("recompute only", cover_deficit)


def cost_model(planner: Planner, ratios: Mapping[int, float]) -> Recipe:
    """Stage two with Eq. 1: MegTaiChi's cost model, transfers at the given ratios."""
    swap_cost_s = transfer_cost_s(planner, ratios)

    def decide(draft: Draft, target_bytes: int) -> None:
        cover_deficit(draft, target_bytes, swap_cost_s)

    return Recipe("cost model", decide, meets_deadlines=False)


def transfer_cost_s(planner: Planner, ratios: Mapping[int, float]) -> EvictionCost:
    """What Eq. 1 charges for a swap: one transfer; with an asymmetric link, the slower one."""
    return lambda c: max(planner.copy_s(c.storage, ratios.get(c.storage, 1.0)))


def largest_idle_first(planner: Planner) -> Recipe:
    """Swap by size times idle time until memory fits: the SWAP policy, in the spirit of vDNN."""
    order: list[Candidate] = sorted(
        planner.problem.candidates.values(), key=lambda c: (-c.bytes * c.idle_s, c.storage)
    )

    def decide(draft: Draft, target_bytes: int) -> None:
        for c in order:
            if draft.peak_bytes <= target_bytes:
                return
            if draft.may_swap(c.storage):
                draft.evict(c.storage, "swap")

    return Recipe("largest bytes x idle", decide, meets_deadlines=False)


def _both_stages(draft: Draft, link: Link, target_bytes: int) -> None:
    fill_link(draft, link, target_bytes)
    cover_deficit(draft, target_bytes)


def algorithm1_recipes(
    planner: Planner,
    ratios: Mapping[int, float],
    rankings: tuple[str, ...],
    label: str = "",
    fractions: tuple[float, ...] = LINK_FRACTIONS,
    stages: Stages = _both_stages,
    meets_deadlines: bool = True,
) -> Iterator[Recipe]:
    """Algorithm 1 for every ranking and link fraction.

    Args:
        stages: what to do with a draft, a link whose order is the ranking, and a target in bytes.
    """
    problem = planner.problem
    copy_s = {t: planner.copy_s(t, ratios.get(t, 1.0)) for t in problem.candidates}
    rank: dict[str, Callable[[int], float]] = {
        "recompute/copy": lambda t: planner.recompute_s(t) / max(copy_s[t]),
        "bytes/copy": lambda t: problem.bytes[t] / max(copy_s[t]),
        "recompute/bytes": lambda t: planner.recompute_s(t) / problem.bytes[t],
        # Beyond the paper.
        "ratio": lambda t: ratios.get(t, 1.0),
        "recompute": planner.recompute_s,
        "recompute x idle/copy": lambda t: rank["recompute/copy"](t) * idle_s(t),
        "bytes x idle/copy": lambda t: rank["bytes/copy"](t) * idle_s(t),
    }

    def idle_s(t: int) -> float:
        return problem.candidates[t].idle_s

    for ranking in rankings:
        # Equal ranks leave the choice to the order of production: the earliest tensor has the
        # latest deadline for its way back.
        order = sorted(problem.candidates, key=rank[ranking], reverse=True)
        for fraction in fractions:
            link = Link(order, copy_s, fraction * min(problem.forward_s, problem.backward_s))

            def decide(draft: Draft, target_bytes: int, link: Link = link) -> None:
                stages(draft, link, target_bytes)

            yield Recipe(f"{label}{ranking} eta={fraction:g}", decide, meets_deadlines)

"""Plans rounded from fractional ones: what the linear program drops is dropped, the rest follows.

The program knows what an operator that several replays need is worth, which no ranking does, but
nothing of whole tensors, replays' memory and the order of copies. So it decides about drops alone;
swaps fill the link as in Algorithm 1, and what is still too much is covered as there.
"""

from collections.abc import Callable, Iterator, Mapping

from planezip.planning.algorithm1 import Link, cover_deficit, fill_link
from planezip.planning.draft import Draft
from planezip.planning.planner import Planner
from planezip.planning.problem import Problem
from planezip.planning.recipes import Decide, Recipe
from planezip.planning.relaxation import Fractions, Relaxation

POSITIONS = 12  # half as many as the bound's: the program is solved several times as fast
THRESHOLDS = (0.99, 0.5, 0.01)  # drop what it drops by this share at least


def relaxations(
    problem: Problem, budget_bytes: int, ratios: Mapping[int, float]
) -> Iterator[tuple[str, Fractions]]:
    """Optimal fractions, by name, if what several replays need is paid by each, and if once.

    Raises:
        InputError: scipy is not installed.
    """
    for name, shared in (("replays alone", False), ("replays shared", True)):
        fractions = Relaxation(problem, budget_bytes, ratios, POSITIONS, shared).solve()
        if fractions.least_s < float("inf"):
            yield name, fractions


def rounded_recipes(
    planner: Planner, ratios: Mapping[int, float], name: str, fractions: Fractions
) -> Iterator[Recipe]:
    """One recipe for each threshold and order of swaps."""
    problem = planner.problem
    copy_s = {t: planner.copy_s(t, ratios.get(t, 1.0)) for t in problem.candidates}
    share = dict(zip(problem.candidates, fractions.dropped.tolist(), strict=True))
    swapped = dict(zip(problem.candidates, fractions.swapped.tolist(), strict=True))

    def gain(t: int) -> float:
        return problem.bytes[t] / max(copy_s[t])

    orders: dict[str, Callable[[int], float]] = {
        "bytes/copy": gain,
        # What the program keeps counts a little, lest all of it be the same.
        "share x bytes/copy": lambda t: gain(t) * (swapped[t] + 0.01),
        "first produced": lambda t: -problem.rank[t],
    }
    for threshold in THRESHOLDS:
        # The program lets replays read more than planners do.
        drops = [t for t in problem.candidates if share[t] >= threshold and planner.can_drop(t)]
        for order, key in orders.items():
            swaps = sorted(problem.candidates.keys() - set(drops), key=problem.rank.__getitem__)
            swaps.sort(key=key, reverse=True)
            yield Recipe(
                f"rounded, {name}, drops >= {threshold:g}, {order}",
                _decide(drops, swaps, copy_s, min(problem.forward_s, problem.backward_s)),
            )


def _decide(
    drops: list[int],
    swaps: list[int],
    copy_s: Mapping[int, tuple[float, float]],
    link_budget_s: float,
) -> Decide:
    def decide(draft: Draft, target_bytes: int) -> None:
        for t in drops:
            draft.evict(t, "drop")
        fill_link(draft, Link(swaps, copy_s, link_budget_s), target_bytes)
        cover_deficit(draft, target_bytes)

    return decide

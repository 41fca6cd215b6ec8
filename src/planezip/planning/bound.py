"""A duration that no plan which the checker accepts can beat, by linear programming.

docs/bound.md says what such plans are and sketches the proof.
"""

from collections.abc import Mapping

from planezip.planning.problem import Problem
from planezip.planning.relaxation import Relaxation


def lower_bound_s(
    problem: Problem, budget_bytes: int, ratios: Mapping[int, float], in_place: bool = False
) -> float:
    """Seconds that an iteration takes at least within the budget, under either semantics.

    It holds for what `check_plan` accepts: with `in_place` for all of it, without for what
    compresses nothing in place. Eviction decided online (`run_online`) may take a tensor
    away in forward and more than once, and can be faster.

    Args:
        ratios: saved storage -> ratio that its transfers have; left-out ones count as 1.

    Returns:
        A lower bound of any plan's simulated duration with these ratios; infinite if there is no
            such plan.

    Raises:
        InputError: scipy is not installed.
    """
    unlimited_s = float(problem.start_s[-1])
    if problem.peak_bytes <= budget_bytes:
        return unlimited_s
    if int(problem.irreducible.max(initial=0)) > budget_bytes:
        return float("inf")
    relaxation = Relaxation(problem, budget_bytes, ratios, in_place=in_place)
    return unlimited_s + relaxation.solve().least_s

"""A duration that no plan which the checker accepts can beat, by linear programming.

docs/bound.md says what such plans are and sketches the proof.
"""

from collections.abc import Mapping

from planezip.planning.problem import Problem
from planezip.planning.relaxation import Relaxation


def lower_bound_s(problem: Problem, budget_bytes: int, ratios: Mapping[int, float]) -> float:
    """Seconds that an iteration takes at least within the budget, under either semantics.

    It holds for what `check_plan` accepts. Eviction decided online (`run_online`) may take a tensor
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
    return unlimited_s + Relaxation(problem, budget_bytes, ratios).solve().least_s

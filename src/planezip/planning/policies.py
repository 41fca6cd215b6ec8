"""The six policies that the paper compares (paper IV), and two beyond it: PlaneZip that compresses
in place, and PlaneZip+."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from planezip.errors import InputError, OverBudgetError, PlanOverflowError
from planezip.planning.in_place import in_place_recipes
from planezip.planning.planner import Planner
from planezip.planning.plus import Effort, improve
from planezip.planning.portfolio import Simulate, build_plan, portfolio
from planezip.planning.recipes import Recipe, cost_model, largest_idle_first, recompute_only
from planezip.records import Plan

Recipes = Callable[[Planner, Mapping[int, float]], Iterable[Recipe]]
DEFAULT_EFFORT = Effort()
SEARCH_STEPS = 10  # halvings between the peak and nothing: the answer is good to 0.1 % of the peak


@dataclass(frozen=True, slots=True)
class Policy:
    """A named way to plan.

    Attributes:
        codec: the codec on its copy path, None for raw transfers.
        recipes: the candidates among which the fastest under the predictions is kept.
        searches: whether to look further from there. What replays recompute may stay then,
            whatever the planner lets the others do.
        in_place: whether to compress in place as well, whatever the planner lets the others do.
    """

    name: str
    codec: str | None
    recipes: Recipes
    searches: bool = False
    in_place: bool = False


def _recomp(planner: Planner, ratios: Mapping[int, float]) -> Iterator[Recipe]:
    yield recompute_only()


def _swap(planner: Planner, ratios: Mapping[int, float]) -> Iterator[Recipe]:
    yield largest_idle_first(planner)


def _dte(planner: Planner, ratios: Mapping[int, float]) -> Iterator[Recipe]:
    yield cost_model(planner, ratios)


POLICIES: dict[str, Policy] = {
    p.name: p
    for p in (
        Policy("recomp", None, _recomp),
        Policy("swap", None, _swap),
        Policy("dte", None, _dte),
        Policy("bw", None, portfolio),
        Policy("bw+zvc", "zvc", portfolio),
        Policy("planezip", "planezip", portfolio),
        Policy("planezip+in-place", "planezip", portfolio, in_place=True),
        Policy("planezip+", "planezip", portfolio, searches=True),
    )
}
PAPER_POLICIES = ("recomp", "swap", "dte", "bw", "bw+zvc", "planezip")
"""Those that the paper compares."""


def policy(name: str) -> Policy:
    """The policy called `name`; InputError names those that exist."""
    try:
        return POLICIES[name]
    except KeyError:
        known = ", ".join(POLICIES)
        raise InputError(f"unknown policy {name!r}; choose one of {known}") from None


def best_plan(
    planner: Planner,
    chosen: Policy,
    budget_bytes: int,
    ratios: Mapping[int, float],
    simulate: Simulate,
    effort: Effort = DEFAULT_EFFORT,
) -> Plan | None:
    """The fastest of the policy's candidates under `ratios`, or None if none fits the budget.

    Where a portfolio's transfers are compressed, BW's plan is a candidate as well, and so are plans
    that compress in place if the planner or the policy lets them.

    Args:
        ratios: saved storage -> predicted compression ratio; left-out ones count as 1. A policy
            without a codec ignores them.
        simulate: times a plan with given ratios, raising PlanOverflowError if it does not fit.
        effort: for a policy that searches.

    Raises:
        InputError: the policy searches and scipy is not installed.
    """
    used = ratios if chosen.codec else {}
    planner = _planner_for(chosen, planner)
    plans = (
        build_plan(one, recipe, budget_bytes, used, simulate)
        for one in planner.alternatives
        for recipe in _recipes(one, chosen, used)
    )
    found = [p for p in plans if p]
    if chosen.codec and chosen.recipes is portfolio:
        found += _unaware(planner, budget_bytes, used, simulate)
    best = min(found, key=lambda p: p.predicted_s, default=None)
    if chosen.searches:
        best = improve(planner, best, budget_bytes, used, simulate, effort)
    return replace(best, policy=chosen.name) if best else None


def _planner_for(chosen: Policy, planner: Planner) -> Planner:
    """The planner, or its twin that may do what the policy asks for."""
    planner = planner.keeping if chosen.searches else planner
    return planner.compressing if chosen.in_place else planner


def _recipes(planner: Planner, chosen: Policy, ratios: Mapping[int, float]) -> Iterator[Recipe]:
    """The policy's, and where a portfolio may compress in place those that do."""
    yield from chosen.recipes(planner, ratios)
    if planner.in_place and chosen.recipes is portfolio:
        yield from in_place_recipes(planner, ratios)


def _unaware(
    planner: Planner, budget_bytes: int, ratios: Mapping[int, float], simulate: Simulate
) -> Iterator[Plan]:
    """BW's plan with compressed transfers, if there is one.

    The four plans with uncompressed sizes are not all that BW chooses from, so that they alone
    would not see to it that compressing BW's own plan is never better.
    """
    if budget_bytes not in planner.unaware:
        planner.unaware[budget_bytes] = best_plan(
            planner, POLICIES["bw"], budget_bytes, {}, simulate
        )
    plan = planner.unaware[budget_bytes]
    if plan is None:
        return
    named = replace(
        plan,
        candidate=f"uncompressed {plan.candidate}",
        ratios={s: ratios.get(s, 1.0) for s in plan.ratios},
    )
    with suppress(PlanOverflowError):
        yield replace(named, predicted_s=simulate(named, ratios).duration_s)


def make_plan(
    planner: Planner,
    chosen: Policy,
    budget_bytes: int,
    ratios: Mapping[int, float],
    simulate: Simulate,
    effort: Effort = DEFAULT_EFFORT,
) -> Plan:
    """As `best_plan`, but raises OverBudgetError with the smallest budget found to fit.

    The heuristics are not monotone: where they find nothing for this budget but something for a
    smaller one, the plan is that of the smaller budget.
    """
    plan = best_plan(planner, chosen, budget_bytes, ratios, simulate, effort)
    if plan is None:
        smallest = smallest_budget(planner, chosen, ratios, simulate)
        if smallest <= budget_bytes:
            plan = best_plan(planner, chosen, smallest, ratios, simulate, effort)
        if plan is None:
            raise OverBudgetError(budget_bytes, smallest)
    return plan


def smallest_budget(
    planner: Planner, chosen: Policy, ratios: Mapping[int, float], simulate: Simulate
) -> int:
    """The smallest budget that the policy was found to fit, by bisection to 0.1 % of the peak."""
    used = ratios if chosen.codec else {}
    planner = _planner_for(chosen, planner)

    def fits(budget_bytes: int) -> bool:
        return any(
            build_plan(one, recipe, budget_bytes, used, simulate)
            for one in planner.alternatives
            for recipe in _quickest_recipes(one, chosen, used)
        )

    low, high = 0, planner.problem.peak_bytes
    for _ in range(SEARCH_STEPS):
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _quickest_recipes(
    planner: Planner, chosen: Policy, ratios: Mapping[int, float]
) -> Iterator[Recipe]:
    """One candidate of each kind: the link fractions of a ranking hardly differ in what fits."""
    seen = set()
    for recipe in _recipes(planner, chosen, ratios):
        kind = recipe.name.split(" eta=")[0]
        if kind not in seen:
            seen.add(kind)
            yield recipe

"""The 18 candidate plans of Section III-C and the re-planning of those that overflow."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from planezip.errors import PlanOverflowError
from planezip.planning.draft import Draft
from planezip.planning.planner import Planner
from planezip.planning.prefetch import place_prefetches
from planezip.planning.program import compile_program
from planezip.planning.recipes import (
    RANKINGS,
    Recipe,
    algorithm1_recipes,
    cost_model,
    recompute_only,
)
from planezip.records import Action, Plan, Timeline

Simulate = Callable[[Plan, Mapping[int, float]], Timeline]
# A plan that overflows is made again for a target lower by this share of the budget. Smaller steps
# find the same plans more slowly; the overflow itself as a step drives the target below zero.
REPLAN_STEP = 0.03
REPLAN_LIMIT = 16


def portfolio(planner: Planner, ratios: Mapping[int, float]) -> Iterator[Recipe]:
    """The 18 plans: 3 rankings x 4 link fractions, 4 built with uncompressed sizes, two more.

    With uncompressed sizes the two rankings by copy time fall together with the one by bytes, so
    those four plans are one ranking at four link fractions.
    """
    yield from algorithm1_recipes(planner, ratios, RANKINGS)
    yield from algorithm1_recipes(planner, {}, ("recompute/copy",), label="uncompressed ")
    yield cost_model(planner, ratios)
    yield recompute_only()


def drafts(
    planner: Planner, recipe: Recipe, budget_bytes: int, ratios: Mapping[int, float]
) -> Iterator[Draft]:
    """What a recipe makes of tighter and tighter targets, without repetitions, as long as memory
    without its replays is within the budget."""
    if planner.problem.irreducible.max(initial=0) > budget_bytes:
        return  # not even with everything away
    tried: dict[int, Action] | None = None
    for attempt in range(REPLAN_LIMIT):
        draft = planner.draft(ratios)
        target_bytes = round(budget_bytes * (1 - attempt * REPLAN_STEP))
        recipe.decide(draft, target_bytes)
        if draft.peak_bytes > budget_bytes:
            return
        if draft.actions == tried:
            if draft.peak_bytes > target_bytes:
                return  # nothing is left to evict: lower targets give the same plan
            continue
        tried = draft.actions
        yield draft


def build_plan(
    planner: Planner,
    recipe: Recipe,
    budget_bytes: int,
    ratios: Mapping[int, float],
    simulate: Simulate,
) -> Plan | None:
    """Carry out one recipe; re-plan with a tighter target while the simulated plan overflows.

    Returns:
        The plan with its simulated duration under `ratios`, or None if no target makes it fit.
    """
    for draft in drafts(planner, recipe, budget_bytes, ratios):
        try:
            plan = replace(
                lay_out(planner, draft.actions, draft.stays, budget_bytes, ratios),
                candidate=recipe.name,
                meets_deadlines=recipe.meets_deadlines,
            )
            timeline = simulate(plan, ratios)
        except PlanOverflowError:
            continue
        return replace(plan, predicted_s=timeline.duration_s)
    return None


def lay_out(
    planner: Planner,
    actions: Mapping[int, Action],
    stays: Collection[int],
    budget_bytes: int,
    ratios: Mapping[int, float],
    delays: Mapping[int, int] = MappingProxyType({}),
    early: Mapping[int, int] = MappingProxyType({}),
) -> Plan:
    """The plan that carries out `actions` (candidate -> action), yet without a policy's name.

    Args:
        stays: as in Plan.
        delays: swapped candidate -> steps by which its prefetch comes later than it could.
        early: as in compile_program.

    Raises:
        PlanOverflowError: there is no room to decompress something (place_prefetches).
    """
    problem = planner.problem
    program = compile_program(problem, actions, stays, planner.layout, early, ratios)
    return Plan(
        model=problem.trace.model,
        platform=problem.platform.name,
        policy="",
        candidate="",
        budget_bytes=budget_bytes,
        meets_deadlines=False,
        actions={s: actions.get(s, "keep") for s in problem.trace.saved},
        ratios={s: ratios.get(s, 1.0) for s in problem.trace.saved},
        steps=program.steps,
        swaps=place_prefetches(program, problem.bytes, budget_bytes, delays),
        scratch=program.scratch,
        stays=tuple(stays),
    )

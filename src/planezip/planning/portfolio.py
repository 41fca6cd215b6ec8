"""The 18 candidate plans of Section III-C and the re-planning of those that overflow."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from planezip.errors import PlanOverflowError
from planezip.planning.algorithm1 import cover_deficit, fill_link
from planezip.planning.draft import Draft, HostPool
from planezip.planning.layout import Layout
from planezip.planning.prefetch import place_prefetches
from planezip.planning.problem import Candidate, Problem
from planezip.planning.program import compile_program
from planezip.planning.replay import ReplayCosts
from planezip.records import Action, Plan, Timeline

Simulate = Callable[[Plan, Mapping[int, float]], Timeline]
Decide = Callable[[Draft, int], None]  # fill in the draft's actions for a target in bytes
Stages = Callable[[Draft, list[int], Mapping[int, tuple[float, float]], float, int], None]

LINK_FRACTIONS = (1.0, 0.75, 0.5, 0.25)
# A plan that overflows is made again for a target lower by this share of the budget. Smaller steps
# find the same plans more slowly; the overflow itself as a step drives the target below zero.
REPLAN_STEP = 0.03
REPLAN_LIMIT = 16


class Planner:
    """Shared state of all plans for one (trace, platform): what every candidate starts from.

    Args:
        kept: what a replay recomputes stays until its own last use, unless the plan frees it for
            want of memory. The paper's planner frees it after the replay.
        in_place: tensors may be compressed in place, which is beyond the paper.
        pool: what bounds the swaps, None if nothing does.

    Attributes:
        alternatives: the planners among whose plans the fastest is kept: with `kept`, the one that
            lets nothing stay as well.
        unaware: budget -> the plan that is fastest where nothing compresses, once it is known.
    """

    def __init__(
        self,
        problem: Problem,
        kept: bool = False,
        in_place: bool = False,
        pool: HostPool | None = None,
    ) -> None:
        self.problem = problem
        self.kept, self.in_place, self.pool = kept, in_place, pool
        self.layout = Layout(problem)
        self._costs = ReplayCosts(problem, kept)
        self.alternatives = (self, Planner(problem, False, in_place, pool)) if kept else (self,)
        self.unaware: dict[int, Plan | None] = {}

    @cached_property
    def keeping(self) -> "Planner":
        """The planner with `kept` for the same problem."""
        return self if self.kept else Planner(self.problem, True, self.in_place, self.pool)

    @cached_property
    def compressing(self) -> "Planner":
        """The planner with `in_place` for the same problem."""
        return self if self.in_place else Planner(self.problem, self.kept, True, self.pool)

    def can_drop(self, t: int) -> bool:
        """Whether t can be replayed at all."""
        return self._costs.can_drop(t)

    def draft(self, ratios: Mapping[int, float] = MappingProxyType({})) -> Draft:
        """A draft that keeps everything."""
        return Draft(self.problem, self._costs.copy(), ratios, self.pool)

    def copy_s(self, t: int, ratio: float) -> tuple[float, float]:
        """Seconds of t's swap-out and swap-in (Eq. 2) at a compression ratio."""
        p, size = self.problem.platform, self.problem.bytes[t]
        return p.copy_s(size, ratio, p.d2h_bytes_per_s), p.copy_s(size, ratio, p.h2d_bytes_per_s)

    def compress_s(self, t: int) -> tuple[float, float]:
        """Seconds to compress t in place and to decompress it."""
        return self.problem.platform.compress_s(self.problem.bytes[t])

    def recompute_s(self, t: int) -> float:
        """Seconds to replay t when nothing else is dropped; endless if it cannot be replayed."""
        return self._costs.seconds(t) if self._costs.can_drop(t) else float("inf")


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

    def swap_cost_s(c: Candidate) -> float:
        out_s, in_s = planner.copy_s(c.storage, ratios.get(c.storage, 1.0))
        # Eq. 1 charges one transfer; with an asymmetric link, the slower direction.
        return max(out_s, in_s)

    def decide(draft: Draft, target_bytes: int) -> None:
        cover_deficit(draft, target_bytes, swap_cost_s)

    return Recipe("cost model", decide, meets_deadlines=False)


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


def _both_stages(
    draft: Draft,
    order: list[int],
    copy_s: Mapping[int, tuple[float, float]],
    link_budget_s: float,
    target_bytes: int,
) -> None:
    fill_link(draft, order, copy_s, link_budget_s, target_bytes)
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
        stages: what to do with a draft, the candidates in order of the ranking, their seconds out
            and back, the link budget in seconds and the target in bytes.
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
            link_budget_s = fraction * min(problem.forward_s, problem.backward_s)

            def decide(
                draft: Draft,
                target_bytes: int,
                order: list[int] = order,
                link_budget_s: float = link_budget_s,
            ) -> None:
                stages(draft, order, copy_s, link_budget_s, target_bytes)

            yield Recipe(f"{label}{ranking} eta={fraction:g}", decide, meets_deadlines)


RANKINGS = ("recompute/copy", "bytes/copy", "recompute/bytes")


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

"""PlaneZip+: the portfolio, more rankings, rounded plans, and local search on trials.

Which dropped tensors stay once a replay has recomputed them is decided tensor by tensor
(docs/model.md). The portfolio is made first and nothing slower is ever returned.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from planezip.planning.planner import Planner
from planezip.planning.portfolio import Simulate, drafts, lay_out
from planezip.planning.recipes import Recipe, algorithm1_recipes
from planezip.planning.rounding import relaxations, rounded_recipes
from planezip.planning.search import EARLY, Counter, Exhausted, Found, Moves, search
from planezip.planning.trial import ACTIONS, Decisions, Trial
from planezip.records import Plan

MORE_RANKINGS = ("ratio", "recompute", "recompute x idle/copy", "bytes x idle/copy")
MORE_FRACTIONS = (1.0, 0.75)
JOINT_ATTEMPTS = 4  # tighter targets that are tried to make room for replays ahead


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to look for a better plan.

    The same seed and number of evaluations give the same plan; time only stops the search. A
    plan says how many evaluations were made, so that it can be made again on any machine.

    Attributes:
        evaluations: trials of plans beyond the portfolio's.
        seconds: of wall-clock time after the portfolio, None for no limit.
        seed: of the moves that are drawn.
    """

    evaluations: int = 20_000
    seconds: float | None = 2.0
    seed: int = 0

    def starts_now(self) -> Callable[[], bool]:
        """Whether the time is up, counted from this call."""
        if self.seconds is None:
            return lambda: False
        end_s = time.monotonic() + self.seconds
        return lambda: time.monotonic() >= end_s


def improve(
    planner: Planner,
    plan: Plan | None,
    budget_bytes: int,
    ratios: Mapping[int, float],
    simulate: Simulate,
    effort: Effort,
) -> Plan | None:
    """The fastest plan that is found, `plan` if none is faster.

    Args:
        planner: one that lets stay what replays recompute.
        plan: the portfolio's, None if it has none within the budget.

    Raises:
        InputError: scipy is not installed.
    """
    if plan and set(plan.actions.values()) <= {"keep"}:
        return plan  # nothing is faster than evicting nothing
    problem = planner.problem
    trial = Trial(problem, planner.layout, ratios, budget_bytes, planner.pool)
    counter = Counter(trial, effort.evaluations, effort.starts_now())
    starts = []
    if plan:
        decisions = Decisions.of(problem, plan.actions, plan.stays)
        starts.append(Found(plan.predicted_s, decisions, plan.candidate))
        counter.offer(starts[0])
    try:
        starts += _starts(planner, budget_bytes, ratios, counter)
    except Exhausted:
        pass
    else:
        can_drop = map(planner.can_drop, problem.candidates)
        can_compress = trial.can_compress if planner.in_place else ()
        moves = Moves(problem, can_drop, effort.seed, can_compress)
        search(_distinct(starts), moves, counter)
    best = counter.best
    if best and (plan is None or best.duration_s < plan.predicted_s):
        plan = _lay_out(planner, best, budget_bytes, ratios, simulate)
    return plan and replace(plan, evaluations=counter.made, seed=effort.seed)


def _starts(
    planner: Planner, budget_bytes: int, ratios: Mapping[int, float], counter: Counter
) -> list[Found]:
    """Plans of more rankings and of rounded fractions, with and without joint replays; those that
    fit."""
    found = []
    for one, recipe in _recipes(planner, budget_bytes, ratios, counter):
        missing = {_joint(recipe.name, early): early for early in EARLY}
        for attempt, draft in enumerate(drafts(one, recipe, budget_bytes, ratios)):
            for name, early in list(missing.items()):
                decisions = Decisions.of(planner.problem, draft.actions, draft.stays)
                if early:
                    decisions.stays[:] = 1
                    decisions.early[:] = early
                duration_s = counter.run(decisions, name)
                if duration_s < float("inf"):
                    found.append(Found(duration_s, decisions, name))
                    del missing[name]
            if not missing or (attempt >= JOINT_ATTEMPTS and recipe.name not in missing):
                break
    return found


def _joint(name: str, early: int) -> str:
    return f"{name}, replays up to {early} ahead" if early else name


def _recipes(
    planner: Planner, budget_bytes: int, ratios: Mapping[int, float], counter: Counter
) -> Iterator[tuple[Planner, Recipe]]:
    for one in planner.alternatives:
        for recipe in algorithm1_recipes(one, ratios, MORE_RANKINGS, fractions=MORE_FRACTIONS):
            yield one, recipe
    counter.check()  # the programs take a while
    for name, fractions in relaxations(planner.problem, budget_bytes, ratios):
        for one in planner.alternatives:
            for recipe in rounded_recipes(one, ratios, name, fractions):
                yield one, recipe
        counter.check()


def _distinct(starts: Iterable[Found]) -> list[Found]:
    """Fastest first, one of those that act alike."""
    by_actions: dict[bytes, Found] = {}
    for start in sorted(starts, key=lambda start: start.duration_s):
        by_actions.setdefault(start.decisions.actions.tobytes(), start)
    return list(by_actions.values())


def _lay_out(
    planner: Planner,
    found: Found,
    budget_bytes: int,
    ratios: Mapping[int, float],
    simulate: Simulate,
) -> Plan:
    d = found.decisions
    actions = {t: ACTIONS[d.actions[k]] for k, t in enumerate(planner.problem.candidates)}
    rank = planner.problem.rank
    stays = tuple(sorted(t for t, a in actions.items() if a == "drop" and d.stays[rank[t]]))
    plan = lay_out(
        planner,
        actions,
        stays,
        budget_bytes,
        ratios,
        {t: int(d.delays[rank[t]]) for t, a in actions.items() if a in ("swap", "compress")},
        {t: int(d.early[rank[t]]) for t in stays},
    )
    timeline = simulate(plan, ratios)
    return replace(plan, candidate=f"from {found.origin}", predicted_s=timeline.duration_s)

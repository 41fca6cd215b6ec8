"""A plan made of what another operator sequence's plan decides."""

from collections.abc import Mapping

from planezip.planning.draft import Draft
from planezip.planning.planner import Planner
from planezip.planning.portfolio import Simulate, build_plan
from planezip.planning.recipes import Recipe
from planezip.records import Plan


def borrowed_plan(
    planner: Planner,
    other: Plan,
    budget_bytes: int,
    ratios: Mapping[int, float],
    simulate: Simulate,
) -> Plan | None:
    """Do with every saved activation what `other` does, whatever this sequence would need.

    Both sequences must run the same operators, at whatever shapes; what this one does not save is
    passed over, and so is what the host has no room for or compressing does not shrink here. None
    if the result does not fit.
    """

    def decide(draft: Draft, target_bytes: int) -> None:
        for t, action in other.actions.items():
            if t not in draft.actions or action == "keep":
                continue
            if (action != "swap" or draft.may_swap(t)) and (
                action != "compress" or draft.may_compress(t)
            ):
                draft.evict(t, action)

    return build_plan(planner, Recipe("borrowed", decide, False), budget_bytes, ratios, simulate)

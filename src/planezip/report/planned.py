"""A plan and its iteration, for people: printing a plan is the report on it."""

from typing import Any

from planezip.records import Action, Plan, Platform, Timeline, Trace
from planezip.report.bench import Bench
from planezip.report.grid import Grid, number
from planezip.report.names import BOUND_CLASS, PRECISIONS, model_title
from planezip.units import format_bytes

ACTIONS: tuple[Action, ...] = ("keep", "swap", "compress", "drop")
_COMPRESSED = ("swap", "compress")


def action_grid(trace: Trace, platform: Platform, plan: Plan) -> Grid:
    """How many saved activations and bytes the plan keeps, swaps, compresses and drops."""
    size = {s: trace.storages[s].bytes_at(platform.precision) for s in plan.actions}
    total = sum(size.values()) or 1
    rows = []
    for action in ACTIONS:
        chosen = [s for s, a in plan.actions.items() if a == action]
        held = sum(size[s] for s in chosen)
        wire = sum(size[s] / plan.ratios.get(s, 1.0) for s in chosen)
        ratio = number(held / wire) if action in _COMPRESSED and wire else ""
        rows.append((action, str(len(chosen)), format_bytes(held), f"{held / total:.0%}", ratio))
    return Grid(
        f"{model_title(plan.model)} on platform {platform.name} ({platform.gpu}, "
        f"{PRECISIONS[platform.precision]}), policy {plan.policy}: {plan.candidate}",
        ("saved activations", "tensors", "size", "share", "predicted ratio"),
        rows,
    )


def iteration_grid(plan: Plan, timeline: Timeline, peak_bytes: int, unlimited_s: float) -> Grid:
    """What one iteration under the plan costs and holds.

    Args:
        peak_bytes, unlimited_s: peak memory and duration of the iteration without eviction.
    """
    slowdown = timeline.duration_s / unlimited_s
    rows = [
        ("duration", _ms(timeline.duration_s), _ms(unlimited_s)),
        ("overhead", f"{100 * (slowdown - 1):.1f}%", ""),
        ("recomputation", _ms(timeline.recompute_s), ""),
        ("stalls", _ms(timeline.stall_s), ""),
        ("peak activation memory", format_bytes(timeline.peak_bytes), format_bytes(peak_bytes)),
        ("budget", format_bytes(plan.budget_bytes), f"{plan.budget_bytes / peak_bytes:.0%}"),
        ("copied to the host", format_bytes(timeline.swapped_bytes), ""),
        ("of that on the wire", format_bytes(timeline.wire_bytes), ""),
    ]
    if plan.evaluations:
        rows.append(("plans tried in the search", f"{plan.evaluations:,}", ""))
    return Grid("One iteration", ("", "with the plan", "unlimited memory"), rows)


def tensor_grid(trace: Trace, platform: Platform, plan: Plan, limit: int) -> Grid:
    """The `limit` largest evicted activations and what happens to each."""
    evicted = [s for s, action in plan.actions.items() if action != "keep"]
    size = {s: trace.storages[s].bytes_at(platform.precision) for s in evicted}
    rows = []
    for s in sorted(evicted, key=lambda s: (-size[s], s))[:limit]:
        storage = trace.storages[s]
        producer = trace.ops[storage.producer].name if storage.producer >= 0 else "input batch"
        ratio = number(plan.ratios.get(s, 1.0)) if plan.actions[s] in _COMPRESSED else ""
        rows.append((str(s), producer, plan.actions[s], format_bytes(size[s]), ratio))
    return Grid(
        f"The {len(rows)} largest of {len(evicted)} evicted activations",
        ("storage", "produced by", "action", "size", "predicted ratio"),
        rows,
        words=3,
    )


def plan_facts(bench: Bench, plan: Plan, timeline: Timeline) -> dict[str, Any]:
    """The same for programs."""
    return {
        "model": plan.model,
        "platform": plan.platform,
        "policy": plan.policy,
        "candidate": plan.candidate,
        "evaluations": plan.evaluations,
        "seed": plan.seed,
        "budget_bytes": plan.budget_bytes,
        "peak_bytes": timeline.peak_bytes,
        "unlimited_peak_bytes": bench.peak_bytes,
        "duration_s": timeline.duration_s,
        "unlimited_s": bench.unlimited_s,
        "overhead_pct": 100 * (timeline.duration_s / bench.unlimited_s - 1),
        "recompute_s": timeline.recompute_s,
        "stall_s": timeline.stall_s,
        "swapped_bytes": timeline.swapped_bytes,
        "wire_bytes": timeline.wire_bytes,
        "tensors": {a: list(plan.actions.values()).count(a) for a in ACTIONS},
    }


def bound_facts(bench: Bench, plan: Plan) -> dict[str, Any]:
    """A duration that no plan of the class beats with these ratios, and the distance to it."""
    bound_s = bench.lower_bound_of(plan)
    return {
        "bound_s": bound_s,
        "bound_overhead_pct": 100 * (bound_s / bench.unlimited_s - 1),
        "over_bound_pct": 100 * (plan.predicted_s / bound_s - 1),
        "bound_class": BOUND_CLASS,
    }


def bound_grid(bench: Bench, plan: Plan) -> Grid:
    """The same for people."""
    facts = bound_facts(bench, plan)
    overhead_pct = 100 * (plan.predicted_s / bench.unlimited_s - 1)
    return Grid(
        "How far from the best possible",
        ("", "duration", "overhead"),
        [
            ("this plan", _ms(plan.predicted_s), f"{overhead_pct:.1f}%"),
            ("no such plan is below", _ms(facts["bound_s"]), f"{facts['bound_overhead_pct']:.1f}%"),
            ("between them", "", f"{facts['over_bound_pct']:.1f}%"),
        ],
        note=BOUND_CLASS,
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.2f} ms"

"""What an evaluation says about one policy at one budget on one platform."""

from dataclasses import dataclass

from planezip.records import Plan, Timeline

INFEASIBLE = "infeasible"


@dataclass(frozen=True, slots=True)
class Row:
    """One simulated iteration beside the same iteration with unlimited memory (figure 4).

    Attributes:
        model, platform, policy: what was planned for, and by which policy.
        budget_pct: budget as a percentage of the peak activation memory without eviction.
        overhead_pct: by how many percent the iteration is longer than with unlimited memory.
        throughput_norm: throughput divided by that with unlimited memory.
        swapped_bytes: uncompressed bytes copied to the host.
        recompute_s, stall_s: time of the compute stream in replays and in waiting.
        kept_plan: candidate of the portfolio that was kept, or "infeasible" if the policy has no
            plan within the budget; what is measured is None then.
    """

    model: str
    platform: str
    budget_pct: float
    policy: str
    overhead_pct: float | None
    throughput_norm: float | None
    swapped_bytes: int | None
    recompute_s: float | None
    stall_s: float | None
    kept_plan: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row, and for some budgets the plan behind it with its detailed timeline."""

    row: Row
    plan: Plan | None = None
    timeline: Timeline | None = None

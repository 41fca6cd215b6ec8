"""From a profiled iteration to a schedule within a budget."""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch

from planezip.execution.copies import Copier
from planezip.execution.pool import CHUNK_BYTES
from planezip.execution.profile import Profile, TraceBuilder
from planezip.execution.schedule import Schedule, make_schedule
from planezip.planning import Planner, Problem, make_plan, policy
from planezip.records import Plan, Platform, Timeline, Trace
from planezip.simulation import Simulator

POLICY, WITHOUT_SWAPS = "planezip", "recomp"
_GUESS_BYTES_PER_S = 1e9


@dataclass(frozen=True, slots=True)
class Rates:
    """How fast this machine copies, in bytes of the tensor a second.

    Attributes:
        encode_bytes_per_s: out of device memory, compressed.
        decode_bytes_per_s: back.
        taken_from_compute: share of the copies' time that operators lose. Where all cores compute,
            a copy takes from them what it takes itself.
    """

    encode_bytes_per_s: float
    decode_bytes_per_s: float
    taken_from_compute: float = 0.0

    @classmethod
    def measured(cls, copier: Copier) -> "Rates":
        """What the copier reached so far; a guess if it has had nothing to do."""
        spare = len(os.sched_getaffinity(0)) - torch.get_num_threads()
        return cls(
            copier.out.bytes_per_s or _GUESS_BYTES_PER_S,
            copier.back.bytes_per_s or _GUESS_BYTES_PER_S,
            min(1.0, max(0.0, 1 - spare / copier.workers)),
        )

    def platform(self) -> Platform:
        """This machine, for planners: operators were measured, and the codec is the link.

        The rates of the link are those of compressing copies already, so that no ratio makes them
        faster: its engine is no faster than they are.
        """
        return Platform(
            name="this machine",
            gpu="none",
            precision="fp32",
            peak_flops_per_s=1.0,
            math_efficiency=1.0,
            memory_bytes_per_s=1.0,
            memory_efficiency=1.0,
            d2h_bytes_per_s=self.encode_bytes_per_s,
            h2d_bytes_per_s=self.decode_bytes_per_s,
            engine_bytes_per_s=min(self.encode_bytes_per_s, self.decode_bytes_per_s),
            encode_bytes_per_s=self.encode_bytes_per_s,
            decode_bytes_per_s=self.decode_bytes_per_s,
        )


def schedule_for(
    profile: Profile,
    rates: Rates,
    budget: Callable[[int], int],
    capacity_bytes: int,
    model: str,
) -> Schedule:
    """Plan a profiled iteration.

    Args:
        budget: gives the budget in bytes for a peak without eviction in bytes.
        capacity_bytes: of the pool; a plan whose swaps it does not hold recomputes instead.

    Raises:
        OverBudgetError: no plan fits; it names the smallest budget that one was found for.
    """
    builder = TraceBuilder(profile, model)
    trace = builder.build()
    problem = Problem(trace, rates.platform())
    planner = Planner(problem, kept=True)
    simulator = Simulator(trace, problem.platform)

    def simulate(plan: Plan, ratios: Mapping[int, float]) -> Timeline:
        timeline = simulator.run(plan, ratios)
        copies_s = sum(sum(planner.copy_s(swap.storage, 1.0)) for swap in plan.swaps)
        lost_s = rates.taken_from_compute * copies_s
        return replace(timeline, duration_s=timeline.duration_s + lost_s)

    def plan_by(name: str) -> Plan:
        chosen = policy(name)
        return make_plan(planner, chosen, budget(problem.peak_bytes), profile.ratios, simulate)

    plan = plan_by(POLICY)
    if _pooled_bytes(plan, trace) > capacity_bytes:
        plan = plan_by(WITHOUT_SWAPS)
    return make_schedule(profile, builder, trace, plan)


def _pooled_bytes(plan: Plan, trace: Trace) -> int:
    """What the pool holds if all that is swapped is in it at once, as when backward begins."""
    sizes = (trace.storages[s.storage].bytes / plan.ratios[s.storage] for s in plan.swaps)
    return sum(CHUNK_BYTES * math.ceil(size / CHUNK_BYTES) for size in sizes)

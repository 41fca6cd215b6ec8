"""From a profiled iteration to a schedule within a budget."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from planezip.execution.copies import Work
from planezip.execution.pool import CHUNK_BYTES
from planezip.execution.profile import Profile, TraceBuilder
from planezip.execution.schedule import Schedule, make_schedule
from planezip.planning import HostPool, Planner, Problem, compressed_bytes, make_plan, policy
from planezip.records import Plan, Platform, Timeline, Trace
from planezip.simulation import Simulator

POLICY = "planezip"
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
    def measured(cls, out: Work, back: Work, workers: int) -> "Rates":
        """Those of work that was done; a guess where there was none."""
        spare = len(os.sched_getaffinity(0)) - torch.get_num_threads()
        return cls(
            out.bytes_per_s or _GUESS_BYTES_PER_S,
            back.bytes_per_s or _GUESS_BYTES_PER_S,
            min(1.0, max(0.0, 1 - spare / workers)),
        )

    def platform(self) -> Platform:
        """This machine, for planners: operators were measured, and the codec is the link."""
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
            engine_bytes_per_s=1.0,  # slower than the link: a transfer takes what the link takes
            encode_bytes_per_s=self.encode_bytes_per_s,
            decode_bytes_per_s=self.decode_bytes_per_s,
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """What a plan has to keep to.

    Attributes:
        budget_bytes: activation memory.
        ratio: the same as a share of the peak without eviction, where budget_bytes is None.
        pool_bytes: capacity of the pool.
        recompute: whether anything may be dropped.
    """

    budget_bytes: int | None
    ratio: float | None
    pool_bytes: int
    recompute: bool = True

    def budget(self, peak_bytes: int) -> int:
        """The budget in bytes for an iteration with that peak."""
        if self.budget_bytes is not None:
            return self.budget_bytes
        assert self.ratio is not None
        return int(peak_bytes * self.ratio)


def schedule_for(
    profile: Profile, rates: Rates, limits: Limits, model: str, excess_bytes: int = 0
) -> Schedule:
    """Plan a profiled iteration.

    What the pool has no room for is compressed in place or recomputed.

    Args:
        excess_bytes: by how much earlier plans were exceeded when they ran.

    Raises:
        OverBudgetError: no plan fits; it names the smallest budget that one was found for.
    """
    builder = TraceBuilder(profile, model, limits.recompute)
    trace = builder.build()
    problem = Problem(trace, rates.platform())
    ratios = {s: profile.ratios.get(s, 1.0) for s in problem.candidates}
    pool = HostPool(limits.pool_bytes, {s: _pooled(trace, s, r) for s, r in ratios.items()})
    planner = Planner(problem, kept=True, in_place=True, pool=pool)
    simulator = Simulator(trace, problem.platform)

    def simulate(plan: Plan, ratios: Mapping[int, float]) -> Timeline:
        return _with_lost_time(simulator.run(plan, ratios), trace, plan, rates)

    budget_bytes = limits.budget(problem.peak_bytes) - excess_bytes
    plan = make_plan(planner, policy(POLICY), budget_bytes, ratios, simulate)
    return make_schedule(profile, builder, trace, plan)


def predicted_timeline(trace: Trace, plan: Plan, rates: Rates) -> Timeline:
    """What a plan is expected to do when; its duration includes what copies take from operators."""
    timeline = Simulator(trace, rates.platform()).run(plan, plan.ratios, detail=True)
    return _with_lost_time(timeline, trace, plan, rates)


def _with_lost_time(timeline: Timeline, trace: Trace, plan: Plan, rates: Rates) -> Timeline:
    """Copies on the cores that compute take their time from the operators."""
    raw_bytes = sum(trace.storages[swap.storage].bytes for swap in plan.swaps)
    copies_s = raw_bytes / rates.encode_bytes_per_s + raw_bytes / rates.decode_bytes_per_s
    lost_s = rates.taken_from_compute * copies_s
    return replace(timeline, duration_s=timeline.duration_s + lost_s)


def _pooled(trace: Trace, storage: int, ratio: float) -> int:
    """What a storage takes in the pool, in whole chunks."""
    stream_bytes = compressed_bytes(trace.storages[storage].bytes, ratio)
    return CHUNK_BYTES * math.ceil(stream_bytes / CHUNK_BYTES)

"""From a profiled iteration to a schedule within a budget."""

from collections.abc import Callable
from dataclasses import dataclass

from planezip.execution.profile import Profile, TraceBuilder
from planezip.execution.schedule import Schedule, make_schedule
from planezip.planning import Planner, Problem, make_plan, policy
from planezip.records import Platform
from planezip.simulation import Simulator

POLICY = "planezip"


@dataclass(frozen=True, slots=True)
class Rates:
    """How fast this machine copies, in bytes of the tensor a second.

    Attributes:
        encode_bytes_per_s: out of device memory, compressed.
        decode_bytes_per_s: back.
    """

    encode_bytes_per_s: float
    decode_bytes_per_s: float

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
        )


def schedule_for(
    profile: Profile, rates: Rates, budget: Callable[[int], int], model: str
) -> Schedule:
    """Plan a profiled iteration.

    Args:
        budget: gives the budget in bytes for a peak without eviction in bytes.

    Raises:
        OverBudgetError: no plan fits; it names the smallest budget that one was found for.
    """
    builder = TraceBuilder(profile, model)
    trace = builder.build()
    problem = Problem(trace, rates.platform())
    planner = Planner(problem, kept=True)
    simulator = Simulator(trace, problem.platform)
    plan = make_plan(
        planner, policy(POLICY), budget(problem.peak_bytes), profile.ratios, simulator.run
    )
    return make_schedule(profile, builder, trace, plan)

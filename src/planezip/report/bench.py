"""One trace on one platform: makes plans with one iteration's ratios, runs them with the next's."""

from functools import cached_property

from planezip.planning import (
    Effort,
    Planner,
    Problem,
    best_plan,
    lower_bound_s,
    make_plan,
    policy,
)
from planezip.planning.predictor import Signature
from planezip.records import (
    Capture,
    Plan,
    Platform,
    Timeline,
    Trace,
    iteration_seconds,
    peak_activation_bytes,
)
from planezip.report.sources import Captured, Source
from planezip.report.variants import Variant, variant
from planezip.simulation import Simulator

REPEATABLE = Effort(seconds=None)
"""As long by default as makes the same plans on every machine."""


class Bench:
    """Planner and simulator of a (trace, platform), with the ratios of a source.

    The compressed policies plan with the ratios of the first captured iteration and transfer with
    those of the second (paper IV). Without a source every ratio is 1, as before the first
    measurement (paper III-B).

    Args:
        source: a capture, or anything else that knows ratios.
        kept: plan so that what replays recompute stays (docs/model.md); the paper's does not.
        effort: how long policies that search look.
    """

    def __init__(
        self,
        trace: Trace,
        platform: Platform,
        source: Capture | Source | None = None,
        kept: bool = False,
        effort: Effort = REPEATABLE,
    ) -> None:
        self.trace, self.platform, self.kept, self.effort = trace, platform, kept, effort
        self.source = Captured(source) if isinstance(source, Capture) else source
        self.peak_bytes = peak_activation_bytes(trace, platform.precision)
        self.unlimited_s = iteration_seconds(trace, platform)
        self._simulator = Simulator(trace, platform)
        self._ratios: dict[tuple[str, int, Signature], dict[int, float]] = {}
        self._plans: dict[tuple[str, int], Plan | None] = {}

    @cached_property
    def problem(self) -> Problem:
        return Problem(self.trace, self.platform)

    @cached_property
    def planner(self) -> Planner:
        return Planner(self.problem, self.kept)

    def budget_bytes(self, budget_pct: float) -> int:
        """A share of the peak activation memory without eviction, in bytes."""
        return int(self.peak_bytes * budget_pct / 100)

    def best_plan(self, policy_name: str, budget_bytes: int) -> Plan | None:
        """The plan of a policy or variant, None if it has none within the budget."""
        chosen = variant(policy_name)
        key = (chosen.policy.name, budget_bytes)
        if key not in self._plans:
            self._plans[key] = best_plan(
                self.planner,
                chosen.policy,
                budget_bytes,
                self._planned(chosen),
                self._simulator.run,
                self.effort,
            )
        return self._plans[key]

    def make_plan(self, policy_name: str, budget_bytes: int) -> Plan:
        """The policy's plan; OverBudgetError names the smallest budget found to fit."""
        chosen = policy(policy_name)
        ratios = self.ratios(chosen.codec, 0)
        return make_plan(
            self.planner, chosen, budget_bytes, ratios, self._simulator.run, self.effort
        )

    def predict(self, plan: Plan) -> Timeline:
        """One iteration under the plan if every ratio is as the plan predicts."""
        return self._simulator.run(plan, plan.ratios)

    def run(self, plan: Plan, detail: bool = False, codec: str | None = None) -> Timeline:
        """One iteration with the ratios of the captured iteration after the plan's.

        Without a source, with those that the plan predicts. PlanOverflowError if the plan does
        not fit its budget.

        Args:
            codec: what compresses the transfers, if it is not what the plan counted on.
        """
        codec = codec or variant(plan.policy).codec
        ratios = self.ratios(codec, 1) if self.source else plan.ratios
        return self._simulator.run(plan, ratios, detail)

    def lower_bound_s(self, budget_bytes: int, codec: str | None, in_place: bool = False) -> float:
        """Seconds below which no plan is whose transfers the codec compresses (docs/bound.md).

        Args:
            in_place: whether it compresses in place as well.
        """
        return lower_bound_s(self.problem, budget_bytes, self.ratios(codec, 1), in_place)

    def lower_bound_of(self, plan: Plan) -> float:
        """Seconds below which no plan is for this budget that may do what this one's policy does,
        if every ratio is as predicted."""
        in_place = variant(plan.policy).policy.in_place
        return lower_bound_s(self.problem, plan.budget_bytes, plan.ratios, in_place)

    def ratios(
        self, codec: str | None, iteration: int, signature: Signature = "tensor"
    ) -> dict[int, float]:
        """Ratio of every saved activation in an iteration; empty without a codec or a source."""
        if codec is None or self.source is None:
            return {}
        key = (codec, iteration, signature)
        if key not in self._ratios:
            self._ratios[key] = self.source.ratios(
                self.trace, self.platform.precision, codec, iteration, signature
            )
        return self._ratios[key]

    def _planned(self, chosen: Variant) -> dict[int, float]:
        return self.ratios(chosen.policy.codec, chosen.planned_iteration, chosen.signature)

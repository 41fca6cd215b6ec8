"""One trace on one platform: makes plans with one iteration's ratios, runs them with the next's."""

from functools import cached_property

from planezip.planning import Planner, Problem, RatioTable, best_plan, make_plan, policy
from planezip.records import (
    Capture,
    Plan,
    Platform,
    Timeline,
    Trace,
    iteration_seconds,
    peak_activation_bytes,
)
from planezip.records.align import align
from planezip.simulation import Simulator


class Bench:
    """Planner and simulator of a (trace, platform), with the ratios of a capture.

    The compressed policies plan with the ratios of the first captured iteration and transfer with
    those of the second (paper IV). Without a capture every ratio is 1, as before the first
    measurement (paper III-B).
    """

    def __init__(self, trace: Trace, platform: Platform, capture: Capture | None = None) -> None:
        self.trace, self.platform, self.capture = trace, platform, capture
        self.peak_bytes = peak_activation_bytes(trace, platform.precision)
        self.unlimited_s = iteration_seconds(trace, platform)
        self._simulator = Simulator(trace, platform)
        self._ratios: dict[tuple[str, int], dict[int, float]] = {}

    @cached_property
    def _planner(self) -> Planner:
        return Planner(Problem(self.trace, self.platform))

    def budget_bytes(self, budget_pct: float) -> int:
        """A share of the peak activation memory without eviction, in bytes."""
        return int(self.peak_bytes * budget_pct / 100)

    def best_plan(self, policy_name: str, budget_bytes: int) -> Plan | None:
        """The policy's plan, None if it has none within the budget."""
        chosen = policy(policy_name)
        ratios = self.ratios(chosen.codec, 0)
        return best_plan(self._planner, chosen, budget_bytes, ratios, self._simulator.run)

    def make_plan(self, policy_name: str, budget_bytes: int) -> Plan:
        """The policy's plan; OverBudgetError names the smallest feasible budget if it has none."""
        chosen = policy(policy_name)
        ratios = self.ratios(chosen.codec, 0)
        return make_plan(self._planner, chosen, budget_bytes, ratios, self._simulator.run)

    def predict(self, plan: Plan) -> Timeline:
        """One iteration under the plan if every ratio is as the plan predicts."""
        return self._simulator.run(plan, plan.ratios)

    def run(self, plan: Plan, detail: bool = False) -> Timeline:
        """One iteration with the ratios of the captured iteration after the plan's.

        Without a capture, with those that the plan predicts. PlanOverflowError if the plan does
        not fit its budget.
        """
        codec = policy(plan.policy).codec
        ratios = self.ratios(codec, 1) if self.capture else plan.ratios
        return self._simulator.run(plan, ratios, detail)

    def ratios(self, codec: str | None, iteration: int) -> dict[int, float]:
        """Ratio of every saved activation in a captured iteration; empty without a codec."""
        if codec is None or self.capture is None:
            return {}
        if (codec, iteration) not in self._ratios:
            matches = align(self.capture, self.trace, iteration).matches
            table = RatioTable()
            table.update(self.capture.iterations[iteration], self.platform.precision, codec)
            self._ratios[codec, iteration] = table.predict_all(matches)
        return self._ratios[codec, iteration]

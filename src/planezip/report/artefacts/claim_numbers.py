"""Figures 3 and 4 as numbers to compute with, for what the paper's text says of them."""

from collections.abc import Callable
from statistics import mean

from planezip.records import iteration_seconds, platform
from planezip.records.measurements import PAPER_MODELS
from planezip.report.artefacts.fig3 import FIG3
from planezip.report.artefacts.fig4 import at_every_budget
from planezip.report.published import GEOMEAN
from planezip.report.rows import Row
from planezip.report.study import Study

_NEAR_PCT = 5.0


class Numbers:
    """What is missing raises KeyError."""

    def __init__(self, study: Study) -> None:
        rows = study.rows(at_every_budget(study))
        self.row = {(r.model, r.platform, r.budget_pct, r.policy): r for r in rows}
        ratios = FIG3.rows(study) if study.ratios == "captured" else ()
        self.geomean = {
            r.codec: r.ratio for r in ratios if (r.model, r.precision) == (GEOMEAN, "bf16")
        }
        self._study = study

    def overhead(self, model: str, name: str, budget: float, policy: str) -> float:
        value = self.row[model, name, budget, policy].overhead_pct
        if value is None:
            raise KeyError(model)
        return value

    def mean(self, name: str, budget: float, policy: str) -> float:
        return mean(self.overhead(m, name, budget, policy) for m in PAPER_MODELS)

    def total(self, name: str, policy: str, of: Callable[[Row], float | None]) -> float:
        """Over the five models at 30 %."""
        return sum(of(self.row[m, name, 30.0, policy]) or 0 for m in PAPER_MODELS)

    def near_full_speed(self, name: str, policy: str) -> float:
        """The budget in percent down to which the mean overhead is at most 5 %."""
        above, reached = 100.0, 0.0
        budgets = sorted({key[2] for key in self.row}, reverse=True)
        for budget in budgets:
            overhead = self.mean(name, budget, policy)
            if overhead > _NEAR_PCT:
                return above - (above - budget) * (_NEAR_PCT - reached) / (overhead - reached)
            above, reached = budget, overhead
        raise KeyError(policy)

    def largest_stall_pct(self, name: str) -> float:
        """Of PlaneZip's iterations at 30 %."""
        found = []
        for m in PAPER_MODELS:
            overhead = self.overhead(m, name, 30.0, "planezip")  # first: there may be no trace
            unlimited_s = iteration_seconds(self._study.trace(m), platform(name))
            lasted_s = unlimited_s * (1 + overhead / 100)
            stall_s = self.row[m, name, 30.0, "planezip"].stall_s or 0.0
            found.append(100 * stall_s / lasted_s)
        return max(found)

    def aware(self) -> int:
        """Configurations of the five models whose plan PlaneZip made with compressed sizes."""
        if not {m for m, *_, policy in self.row if policy == "planezip"}.issuperset(PAPER_MODELS):
            raise KeyError("planezip")
        kept = [
            r.kept_plan
            for (m, *_, policy), r in self.row.items()
            if m in PAPER_MODELS and policy == "planezip" and r.overhead_pct is not None
        ]
        return sum(not plan.startswith(("uncompressed", "recompute only")) for plan in kept)

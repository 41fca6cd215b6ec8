"""Everything that a report shows, computed once."""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.records import Capture, Platform, Trace
from planezip.report.evaluate import BUDGETS_PCT, Progress, evaluate
from planezip.report.grid import Grid
from planezip.report.grids import (
    error_grid,
    overhead_grid,
    producer_grid,
    ratio_grid,
    stability_grid,
    trace_grid,
)
from planezip.report.predictability import Stability, stability
from planezip.report.producers import Producer, producers
from planezip.report.ratios import Ratio, ratios
from planezip.report.rows import Outcome, Row
from planezip.report.sources import PaperTable, Source
from planezip.report.summary import TraceSummary, summarise


@dataclass(frozen=True, slots=True)
class Contents:
    """Rows for the CSV files and the records behind the plots.

    Without a capture, `ratios`, `producers` and `stability` are empty.

    Attributes:
        paper_ratios: transfers compress by the paper's Table III.
    """

    trace: Trace
    capture: Capture | None
    platforms: tuple[Platform, ...]
    summary: TraceSummary
    ratios: list[Ratio]
    producers: list[Producer]
    stability: list[Stability]
    outcomes: list[Outcome]
    paper_ratios: bool = False

    @property
    def source(self) -> Capture | Source | None:
        """Where compression ratios come from."""
        return PaperTable() if self.paper_ratios else self.capture

    @property
    def rows(self) -> list[Row]:
        return [outcome.row for outcome in self.outcomes]

    def grids(self) -> list[Grid]:
        """The tables that a terminal shows."""
        shown = [trace_grid(self.trace)]
        if self.capture:
            shown += [
                ratio_grid(self.ratios, self.capture.weights),
                producer_grid(self.producers, "bf16"),
            ]
            shown += [stability_grid(self.stability), error_grid(self.capture)]
        return shown + [overhead_grid(self.rows, platform) for platform in self.platforms]


def contents(
    trace: Trace,
    source: Capture | Source | None,
    platforms: Sequence[Platform],
    budgets_pct: Sequence[float] = BUDGETS_PCT,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Contents:
    """Evaluate all policies and gather the ratios.

    Args:
        budgets_pct, progress, workers: as for `evaluate`, which also says what is raised.
    """
    capture = source if isinstance(source, Capture) else None
    return Contents(
        trace,
        capture,
        tuple(platforms),
        summarise(trace),
        ratios(capture) if capture else [],
        producers(capture) if capture else [],
        stability(capture) if capture else [],
        evaluate(trace, source, platforms, budgets_pct, progress=progress, workers=workers),
        isinstance(source, PaperTable),
    )

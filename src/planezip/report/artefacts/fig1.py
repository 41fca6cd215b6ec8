"""Figure 1: what a swap costs beside a recomputation, and what the link can move."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from planezip.planning import Planner, Problem
from planezip.records import PAPER_PLATFORMS, Platform, platform
from planezip.records.measurements import PAPER_MODELS
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.published import paper
from planezip.report.study import Study


@dataclass(frozen=True, slots=True)
class TensorCost:
    """One saved activation that can be evicted.

    Attributes:
        tensor: its storage's id in the trace.
        bytes: at the platform's precision.
        swap_over_recompute: transfer time (Eq. 1) over the time to recompute it with its inputs
            resident; None for the batch, which nothing recomputes.
    """

    model: str
    platform: str
    tensor: int
    bytes: int
    swap_over_recompute: float | None


@dataclass(frozen=True, slots=True)
class CostSummary:
    """All tensors of the paper's models on one platform, weighted by bytes.

    Attributes:
        share_bytes_swap_slower_pct: share of the bytes that cost more to swap than to recompute.
        median_ratio: of swap over recomputation, for the median byte.
    """

    platform: str
    share_bytes_swap_slower_pct: float
    median_ratio: float


def _rows(study: Study) -> list[TensorCost]:
    return [
        row
        for model in study.models()
        if model in PAPER_MODELS
        for name in PAPER_PLATFORMS
        for row in _costs(study, model, platform(name))
    ]


def _costs(study: Study, model: str, on: Platform) -> Iterator[TensorCost]:
    planner = Planner(Problem(study.trace(model), on))
    for t, c in planner.problem.candidates.items():
        swap_s = c.bytes / min(on.d2h_bytes_per_s, on.h2d_bytes_per_s)
        recompute_s = planner.recompute_s(t)
        ratio = None if recompute_s == float("inf") else swap_s / recompute_s
        yield TensorCost(model, on.name, t, c.bytes, ratio)


def summarise(rows: Sequence[TensorCost]) -> list[CostSummary]:
    """One row a platform; tensors that nothing recomputes or that hold no bytes are left out.

    So is a platform that has no others: a share of nothing is no number.
    """
    found = []
    for name in dict.fromkeys(r.platform for r in rows):
        mine = sorted(
            (r.swap_over_recompute, r.bytes)
            for r in rows
            if r.platform == name and r.swap_over_recompute is not None and r.bytes
        )
        if not mine:
            continue
        total = sum(size for _, size in mine)
        slower = sum(size for ratio, size in mine if ratio > 1)
        below = accumulate(size for _, size in mine)
        median = next(ratio for (ratio, _), b in zip(mine, below, strict=True) if 2 * b >= total)
        found.append(CostSummary(name, 100 * slower / total, median))
    return found


def _summary_rows(study: Study) -> list[CostSummary]:
    return summarise(_rows(study))


def _grid(rows: Sequence[TensorCost]) -> Grid:
    return _summary_grid(summarise(rows))


def _summary_grid(rows: Sequence[CostSummary]) -> Grid:
    return Grid(
        "Transfer time over recomputation time of saved activations",
        ("platform", "bytes slower to swap, %", "paper", "median byte's ratio", "paper"),
        [
            (
                r.platform,
                number(r.share_bytes_swap_slower_pct, 2),
                number(paper().figure1[r.platform].share_bytes_swap_slower_pct, 1),
                number(r.median_ratio, 1),
                number(paper().figure1[r.platform].median_ratio, 1),
            )
            for r in rows
        ],
    )


def _plot(rows: Sequence[TensorCost]) -> dict[str, bytes]:
    from planezip.report.figures.costs import costs_figure

    return costs_figure(rows)


FIG1_TENSORS = Artefact(
    "fig1_tensors", "Figure 1a, swap over recomputation", TensorCost, _rows, _grid, _plot
)
FIG1_SUMMARY = Artefact(
    "fig1_summary", "Section II-C, swap over recomputation", CostSummary, _summary_rows,
    _summary_grid,
)  # fmt: skip

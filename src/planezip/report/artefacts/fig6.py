"""Figure 6: mean overhead at 50 % on platform B against link and engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planezip.records import Platform, platform
from planezip.records.measurements import PAPER_MODELS
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import POLICIES as TITLES
from planezip.report.published import paper
from planezip.report.study import Study, Task
from planezip.units import GB

POLICIES = ("recomp", "bw", "planezip")
BUDGET_PCT = 50.0
LINKS_GBPS = (12, 24, 48, 96, 192)
ENGINES_GBPS = (24, 32, 48, 64, 96, 128)
ENGINE_TO_LINK = 4
_NOTES = {
    "fig6a": "In the paper PlaneZip removes 6.4 points of BW's overhead at 48 GB/s, and at "
    "192 GB/s both stay at or below 0.4 %."
}


@dataclass(frozen=True, slots=True)
class AtRate:
    """Mean over the five models at one rate of link or engine, in GB/s per direction."""

    gbps: int
    policy: str
    mean_overhead_pct: float | None


def link_platform(gbps: int) -> Platform:
    """Platform B with another link and an engine four times as fast."""
    rate = gbps * GB
    return replace(
        platform("B"),
        d2h_bytes_per_s=rate,
        h2d_bytes_per_s=rate,
        engine_bytes_per_s=ENGINE_TO_LINK * rate,
    )


def engine_platform(gbps: int) -> Platform:
    """Platform B with another engine."""
    return replace(platform("B"), engine_bytes_per_s=gbps * GB)


def _artefact(
    name: str, title: str, axis: str, rates: Sequence[int], at: Callable[[int], Platform]
) -> Artefact:
    def tasks(study: Study) -> list[Task]:
        return [
            Task(model, at(gbps), BUDGET_PCT, policy)
            for model in PAPER_MODELS
            if model in study.models()
            for gbps in rates
            for policy in POLICIES
        ]

    def rows(study: Study) -> list[AtRate]:
        study.run(tasks(study))
        return [
            AtRate(gbps, policy, study.mean_overhead_pct(at(gbps), BUDGET_PCT, policy))
            for gbps in rates
            for policy in POLICIES
        ]

    theirs = paper().figure6a if name == "fig6a" else paper().figure6b

    def grid(made: Sequence[AtRate]) -> Grid:
        found = {(r.gbps, r.policy): r.mean_overhead_pct for r in made}
        return Grid(
            f"Mean overhead in % at a budget of 50 % on platform B by {axis}",
            ("GB/s", *(h for p in POLICIES for h in (TITLES[p], "paper"))),
            [
                (
                    str(gbps),
                    *(
                        cell
                        for p in POLICIES
                        for cell in (
                            number(found.get((gbps, p)), 1),
                            number(theirs.get(str(gbps), {}).get(p), 1),
                        )
                    ),
                )
                for gbps in rates
            ],
            note=_NOTES.get(name, ""),
        )

    def plot(made: Sequence[AtRate]) -> dict[str, bytes]:
        from planezip.report.figures.sensitivity import sensitivity_figure

        lines = {
            p: [(r.gbps, r.mean_overhead_pct) for r in made if r.policy == p] for p in POLICIES
        }
        return sensitivity_figure(lines, f"{axis}, GB/s per direction", theirs)

    return Artefact(name, title, AtRate, rows, grid, plot, tasks=tasks)


FIG6A = _artefact("fig6a", "Figure 6a, host link", "host link", LINKS_GBPS, link_platform)
FIG6B = _artefact("fig6b", "Figure 6b, engine", "compression engine", ENGINES_GBPS, engine_platform)

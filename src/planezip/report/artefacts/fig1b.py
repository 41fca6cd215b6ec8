"""Figure 1b: share of the saved bytes that the link can move during one iteration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from planezip.planning import Problem
from planezip.records import PAPER_PLATFORMS, Platform, platform
from planezip.records.measurements import PAPER_MODELS
from planezip.report.artefacts.artefact import Artefact
from planezip.report.grid import Grid, number
from planezip.report.names import CODECS, model_title
from planezip.report.published import paper
from planezip.report.study import Study

NONE = "none"


@dataclass(frozen=True, slots=True)
class Movable:
    """What fits through the link while the shorter of both passes computes.

    Attributes:
        codec: "none", "zvc" or "planezip".
        movable_pct: share of the saved bytes, both taken out and brought back.
    """

    model: str
    platform: str
    codec: str
    movable_pct: float


def _rows(study: Study) -> list[Movable]:
    rows = []
    for model in study.models():
        trace, source = study.trace(model), study.source(model)
        for name in PAPER_PLATFORMS if model in PAPER_MODELS else ():
            on = platform(name)
            problem = Problem(trace, on)
            rows.append(Movable(model, name, NONE, movable_pct(problem, on, {})))
            for codec in ("zvc", "planezip") if source else ():
                ratios = source.ratios(trace, on.precision, codec) if source else {}
                rows.append(Movable(model, name, codec, movable_pct(problem, on, ratios)))
    return rows


def movable_pct(problem: Problem, on: Platform, ratios: Mapping[int, float]) -> float:
    """Compute time of the shorter pass over the transfer time (Eq. 2) of all saved bytes, in %.

    All of it if nothing is saved.
    """
    link = min(on.d2h_bytes_per_s, on.h2d_bytes_per_s)
    transfer_s = sum(
        on.copy_s(problem.bytes[s], ratios.get(s, 1.0), link) - on.copy_setup_s
        for s in problem.trace.saved
    )
    compute_s = min(problem.forward_s, problem.backward_s)
    return 100 * compute_s / transfer_s if transfer_s else 100.0


def _grid(rows: Sequence[Movable]) -> Grid:
    found = {(r.model, r.platform, r.codec): r.movable_pct for r in rows}
    models = list(dict.fromkeys(r.model for r in rows))
    codecs = list(dict.fromkeys(r.codec for r in rows))
    lines = []
    for name in PAPER_PLATFORMS:
        for codec in codecs:
            mine = {m: found[m, name, codec] for m in models if (m, name, codec) in found}
            gains = [share / found[m, name, NONE] for m, share in mine.items()]
            title = NONE if codec == NONE else CODECS[codec]
            cells = [number(mine.get(m), 1) for m in models]
            factor = "" if codec == NONE else f"{geometric_mean(gains):.2f}"
            theirs = paper().figure1[name]
            lines.append(
                [
                    *(name, title, *cells, f"{min(mine.values()):.0f}–{max(mine.values()):.0f}"),
                    theirs.movable_pct if codec == NONE else "–",
                    factor,
                    number(theirs.movable_factor.get(codec), 1),
                ]
            )
    return Grid(
        "Saved bytes that the link can move during one iteration, %",
        ("platform", "codec", *map(model_title, models), "range", "paper", "factor", "paper"),
        lines,
        words=2,
        note="Factor: over no compression, geometric mean.",
    )


def _plot(rows: Sequence[Movable]) -> dict[str, bytes]:
    from planezip.report.figures.movable import movable_figure

    return movable_figure(rows)


FIG1B = Artefact("fig1b", "Figure 1b, what the link can move", Movable, _rows, _grid, _plot)

"""Which plans the page of the paper's tables and figures draws."""

from collections.abc import Mapping, Sequence
from typing import Any

from planezip.errors import InputError
from planezip.records import PAPER_PLATFORMS, platform
from planezip.report.artefacts import ARTEFACTS, Artefact
from planezip.report.bench import Bench
from planezip.report.machine import Machine
from planezip.report.pages import Explorer, Provenance, explorer
from planezip.report.pages.explorer import DRAWN
from planezip.report.rows import Row
from planezip.report.study import Study

MODEL = "gpt2"
"""The workload that is drawn unless another one is asked for, if it was planned for."""


def explorers(
    study: Study,
    made: Mapping[Artefact, Sequence[Any]],
    model: str | None = None,
    platforms: Sequence[str] = PAPER_PLATFORMS,
    policy: str = DRAWN,
) -> list[Explorer]:
    """One a platform, of the plans behind figure 4; none if it was not made.

    Raises:
        InputError: figure 4 lacks the workload or the policy, or was not made with this study.
    """
    rows: Sequence[Row] = made.get(ARTEFACTS["fig4"], ())
    models = list(dict.fromkeys(row.model for row in rows))
    if not models:
        return []
    chosen = model or (MODEL if MODEL in models else models[0])
    if chosen not in models:
        raise InputError(f"figure 4 has no model {chosen!r}; choose from: {', '.join(models)}")
    planned = list(dict.fromkeys(row.policy for row in rows if row.model == chosen))
    if policy not in (*planned, DRAWN):
        raise InputError(f"figure 4 has no policy {policy!r}; choose from: {', '.join(planned)}")
    trace, source = study.trace(chosen), study.source(chosen)
    return [explorer(Bench(trace, platform(name), source), rows, policy) for name in platforms]


def provenance(study: Study, made_on: Machine | None) -> Provenance:
    """Where a study's numbers come from."""
    versions: dict[str, str] = {}
    for model in study.models():
        versions |= study.trace(model).versions or {}
    return Provenance(study.ratios, made_on, versions)

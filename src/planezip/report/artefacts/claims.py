"""What the paper's text says in numbers beside its tables and figures."""

from collections.abc import Sequence
from dataclasses import dataclass

from planezip.report.artefacts.artefact import Artefact
from planezip.report.artefacts.claim_numbers import Numbers
from planezip.report.artefacts.fig4 import at_every_budget
from planezip.report.artefacts.statements import STATEMENTS, Statement
from planezip.report.grid import Grid, number
from planezip.report.published import paper
from planezip.report.study import Study

BOTH = "both"


@dataclass(frozen=True, slots=True)
class Claim:
    """One number.

    Attributes:
        claim: its name among the statements.
        platform: what it is of; "both" if it is of none alone.
        value: None where a workload that it needs has no plan, or was not measured.
    """

    claim: str
    platform: str
    value: float | None


def _rows(study: Study) -> list[Claim]:
    numbers = Numbers(study)
    return [
        Claim(claim, name, _value(STATEMENTS[claim], numbers, name))
        for claim, theirs in paper().claims.items()
        for name in theirs
    ]


def _value(statement: Statement, numbers: Numbers, name: str) -> float | None:
    try:
        return statement.compute(numbers, name)
    except (KeyError, ZeroDivisionError):
        return None


def _grid(rows: Sequence[Claim]) -> Grid:
    return Grid(
        "What the text says in numbers",
        ("section", "statement", "platform", "here", "paper"),
        [
            (
                STATEMENTS[r.claim].section,
                STATEMENTS[r.claim].said,
                "" if r.platform == BOTH else r.platform,
                number(r.value, STATEMENTS[r.claim].digits),
                number(paper().claims[r.claim][r.platform], STATEMENTS[r.claim].digits),
            )
            for r in rows
        ],
        words=3,
        note="Means are over the five models; full speed's budgets are where a straight line "
        "between the means at two budgets reaches 5 %. The paper's longest stalls are an upper "
        "limit.",
    )


CLAIMS = Artefact(
    "claims", "Section V, numbers in the text", Claim, _rows, _grid, tasks=at_every_budget
)

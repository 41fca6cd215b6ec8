"""All tables and figures by name, in the paper's order."""

from collections.abc import Sequence

from planezip.errors import InputError
from planezip.report.artefacts.artefact import Artefact
from planezip.report.artefacts.autocast import AUTOCAST
from planezip.report.artefacts.fig3 import FIG3, SYMBOLS
from planezip.report.artefacts.table1 import TABLE1
from planezip.report.artefacts.table3 import TABLE3
from planezip.report.artefacts.table4 import TABLE4

ARTEFACTS = {a.name: a for a in (TABLE1, FIG3, SYMBOLS, TABLE3, TABLE4, AUTOCAST)}


def chosen(names: Sequence[str]) -> list[Artefact]:
    """Those named, in the paper's order; all if none is named. InputError lists the known ones."""
    for name in names:
        if name not in ARTEFACTS:
            known = ", ".join(ARTEFACTS)
            raise InputError(f"no table or figure is called {name!r}; choose from: {known}")
    return [artefact for name, artefact in ARTEFACTS.items() if name in names or not names]

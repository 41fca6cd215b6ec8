"""All tables and figures by name, in the paper's order."""

from collections.abc import Sequence

from planezip.errors import InputError
from planezip.report.artefacts.alignment import ALIGNMENT
from planezip.report.artefacts.artefact import Artefact
from planezip.report.artefacts.autocast import AUTOCAST
from planezip.report.artefacts.bound import BOUND
from planezip.report.artefacts.claims import CLAIMS
from planezip.report.artefacts.dynamic import DYNAMIC, DYNAMIC_SUMMARY
from planezip.report.artefacts.fig1 import FIG1_SUMMARY, FIG1_TENSORS
from planezip.report.artefacts.fig1b import FIG1B
from planezip.report.artefacts.fig3 import FIG3, SYMBOLS
from planezip.report.artefacts.fig4 import FIG4
from planezip.report.artefacts.fig5 import FIG5
from planezip.report.artefacts.fig6 import FIG6A, FIG6B
from planezip.report.artefacts.hwcost import HWCOST
from planezip.report.artefacts.in_place import IN_PLACE
from planezip.report.artefacts.plus import PLUS
from planezip.report.artefacts.semantics import SEMANTICS_TABLE
from planezip.report.artefacts.table1 import TABLE1
from planezip.report.artefacts.table3 import TABLE3
from planezip.report.artefacts.table4 import TABLE4
from planezip.report.artefacts.weight_casts import WEIGHT_CASTS

ARTEFACTS = {
    a.name: a
    for a in (
        FIG1_TENSORS,
        FIG1_SUMMARY,
        FIG1B,
        TABLE1,
        HWCOST,
        FIG3,
        SYMBOLS,
        TABLE3,
        TABLE4,
        ALIGNMENT,
        AUTOCAST,
        WEIGHT_CASTS,
        FIG4,
        FIG5,
        FIG6A,
        FIG6B,
        CLAIMS,
        SEMANTICS_TABLE,
        BOUND,
        IN_PLACE,
        PLUS,
        DYNAMIC,
        DYNAMIC_SUMMARY,
    )
}


def chosen(names: Sequence[str]) -> list[Artefact]:
    """Those named, in the paper's order; all if none is named. InputError lists the known ones."""
    for name in names:
        if name not in ARTEFACTS:
            known = ", ".join(ARTEFACTS)
            raise InputError(f"no table or figure is called {name!r}; choose from: {known}")
    return [artefact for name, artefact in ARTEFACTS.items() if name in names or not names]

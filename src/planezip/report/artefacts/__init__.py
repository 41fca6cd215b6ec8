"""The paper's tables and figures, each from measurements alone: rows for a CSV file, and plots."""

from planezip.report.artefacts.artefact import Artefact
from planezip.report.artefacts.registry import ARTEFACTS, chosen

__all__ = ["ARTEFACTS", "Artefact", "chosen"]

"""Pages: one HTML file each that holds everything it shows and loads nothing."""

from planezip.report.pages.explorer import Explorer, explorer
from planezip.report.pages.paper_page import Provenance, paper_page
from planezip.report.pages.trace_page import memory_panels, trace_page

__all__ = ["Explorer", "Provenance", "explorer", "memory_panels", "paper_page", "trace_page"]

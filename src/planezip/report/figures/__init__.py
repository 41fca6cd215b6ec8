"""Plots: one file each, drawn from rows and records, returned as PNG bytes."""

from planezip.report.figures.memory import MemoryPanel, memory_figure
from planezip.report.figures.model_ratio import model_ratio_figure
from planezip.report.figures.ratio import ratio_figure
from planezip.report.figures.throughput import throughput_figure

__all__ = [
    "MemoryPanel",
    "memory_figure",
    "model_ratio_figure",
    "ratio_figure",
    "throughput_figure",
]

"""Writes a report into a folder: CSV files, plots, timelines and the page."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planezip.errors import InputError
from planezip.records import to_json, write_atomically
from planezip.report.contents import Contents
from planezip.report.csvs import write_csv
from planezip.report.figures import memory_figure, ratio_figure, throughput_figure
from planezip.report.machine import this_machine
from planezip.report.names import platform_title
from planezip.report.page import memory_panels, page
from planezip.report.predictability import Stability
from planezip.report.producers import Producer
from planezip.report.published import paper
from planezip.report.ratios import PRECISIONS, Ratio
from planezip.report.rows import Row
from planezip.simulation import perfetto

PAGE = "report.html"


def writable_folder(path: Path) -> Path:
    """Make the folder; InputError if files cannot be written there, before any long work."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path}: {error.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into the folder {path}: permission denied")
    return path


def write_report(folder: Path, c: Contents) -> list[Path]:
    """Write everything; each file appears whole or not at all. Returns the files, page first."""
    tables = write_tables(folder, c)
    plots = _write_plots(folder, c)
    timelines = _write_timelines(folder, c)
    links = [[p.relative_to(folder).as_posix() for p in paths] for paths in (timelines, tables)]
    html = page(c, *links)
    write_atomically(folder / PAGE, html.encode())
    return [folder / PAGE, *tables, *plots, *timelines]


def write_tables(folder: Path, c: Contents) -> list[Path]:
    """The rows as CSV, and the machine that measured them."""
    tables: dict[str, tuple[type[Any], Sequence[Any]]] = {"overheads.csv": (Row, c.rows)}
    if c.capture:
        tables |= {
            "ratios.csv": (Ratio, c.ratios),
            "producers.csv": (Producer, c.producers),
            "predictability.csv": (Stability, c.stability),
        }
    for name, (kind, rows) in tables.items():
        write_csv(folder / name, kind, rows)
    write_atomically(folder / "machine.json", to_json(this_machine()))
    return [folder / name for name in (*tables, "machine.json")]


def _write_plots(folder: Path, c: Contents) -> list[Path]:
    plots = {
        "throughput.png": throughput_figure(
            c.rows, {p.name: platform_title(p) for p in c.platforms}
        )
    }
    if c.capture:
        beside = paper().ratios(c.summary.model, c.capture.weights)
        plots["ratio.png"] = ratio_figure(c.ratios, PRECISIONS, beside)
    if panels := memory_panels(c):
        plots["memory.png"] = memory_figure(c.trace, panels)
    for name, png in plots.items():
        write_atomically(folder / name, png)
    return [folder / name for name in plots]


def _write_timelines(folder: Path, c: Contents) -> list[Path]:
    paths = []
    for o in c.outcomes:
        if o.plan and o.timeline:
            name = f"{o.row.platform}-{o.row.budget_pct:g}-{o.row.policy.replace('+', '-')}.json"
            paths.append(folder / "timelines" / name)
            write_atomically(paths[-1], to_json(perfetto(c.trace, o.plan, o.timeline)))
    return paths

"""Writes a report into a folder: CSV files, plots, timelines and the page."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from planezip.errors import InputError
from planezip.records import to_json, write_atomically, write_together
from planezip.records.files import make_folder, remove_empty
from planezip.report.artefacts import Artefact
from planezip.report.bench import Bench
from planezip.report.contents import Contents
from planezip.report.csvs import to_csv
from planezip.report.figures import memory_figure, ratio_figure, throughput_figure
from planezip.report.machine import this_machine
from planezip.report.names import platform_title
from planezip.report.pages import (
    Explorer,
    Provenance,
    explorer,
    memory_panels,
    paper_page,
    trace_page,
)
from planezip.report.pages.explorer import DRAWN
from planezip.report.predictability import Stability
from planezip.report.producers import Producer
from planezip.report.published import paper
from planezip.report.ratios import PRECISIONS, Ratio
from planezip.report.rows import Row
from planezip.simulation import perfetto

PAGE = "report.html"


@contextmanager
def writable_folder(path: Path) -> Iterator[None]:
    """Make the folder for long work; should that fail, it goes again unless something is in it.

    Raises:
        InputError: files cannot be written there.
    """
    made: list[Path] = []
    try:
        try:
            make_folder(path, made)
        except OSError as error:
            raise InputError(f"cannot make the folder {path}: {error.strerror}") from None
        if not os.access(path, os.W_OK | os.X_OK):
            raise InputError(f"cannot write into the folder {path}: permission denied")
        yield
    except BaseException:
        remove_empty(made)
        raise


def write_report(folder: Path, c: Contents, policy: str = DRAWN) -> list[Path]:
    """Write everything, or nothing if any of it cannot be. Returns the files, page first.

    Args:
        policy: whose plans the page draws.
    """
    tables, plots, timelines = _tables(c), _plots(c), _timelines(c)
    explorers = [explorer(Bench(c.trace, p, c.source), c.rows, policy) for p in c.platforms]
    html = trace_page(c, explorers, list(timelines), list(tables))
    files = {PAGE: html.encode(), **tables, **plots, **timelines}
    written = {folder / name: data for name, data in files.items()}
    write_together(written)
    return list(written)


def write_tables(folder: Path, c: Contents) -> list[Path]:
    """The rows as CSV, and the machine that measured them."""
    written = {folder / name: data for name, data in _tables(c).items()}
    write_together(written)
    return list(written)


def write_artefacts(
    folder: Path,
    made: Mapping[Artefact, Sequence[Any]],
    explorers: Sequence[Explorer],
    source: Provenance,
) -> list[Path]:
    """Tables and figures, the machine that made them, and the page of them; all or nothing.

    Returns the files, page last.
    """
    files = {name: data for a, rows in made.items() for name, data in a.files(rows).items()}
    files["machine.json"] = to_json(this_machine())
    files[PAGE] = paper_page(made, explorers, source).encode()
    written = {folder / name: data for name, data in files.items()}
    write_together(written)
    return list(written)


def write_page(
    folder: Path,
    made: Mapping[Artefact, Sequence[Any]],
    explorers: Sequence[Explorer],
    source: Provenance,
) -> Path:
    """The page of tables and figures alone."""
    write_atomically(folder / PAGE, paper_page(made, explorers, source).encode())
    return folder / PAGE


def _tables(c: Contents) -> dict[str, bytes]:
    tables: dict[str, tuple[type[Any], Sequence[Any]]] = {"overheads.csv": (Row, c.rows)}
    if c.capture:
        tables |= {
            "ratios.csv": (Ratio, c.ratios),
            "producers.csv": (Producer, c.producers),
            "predictability.csv": (Stability, c.stability),
        }
    files = {name: to_csv(kind, rows) for name, (kind, rows) in tables.items()}
    return {**files, "machine.json": to_json(this_machine())}


def _plots(c: Contents) -> dict[str, bytes]:
    titles = {p.name: platform_title(p) for p in c.platforms}
    plots = {"throughput.png": throughput_figure(c.rows, titles)}
    if c.capture:
        beside = paper().ratios(c.summary.model, c.capture.weights)
        plots["ratio.png"] = ratio_figure(c.ratios, PRECISIONS, beside)
    if panels := memory_panels(c):
        plots["memory.png"] = memory_figure(c.trace, panels)
    return plots


def _timelines(c: Contents) -> dict[str, bytes]:
    files = {}
    for o in c.outcomes:
        if o.plan and o.timeline:
            name = f"{o.row.platform}-{o.row.budget_pct:g}-{o.row.policy.replace('+', '-')}.json"
            files[f"timelines/{name}"] = to_json(perfetto(c.trace, o.plan, o.timeline))
    return files

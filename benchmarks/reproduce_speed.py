"""How long `planezip reproduce` takes for every table and figure, each in a process of its own.

    python benchmarks/reproduce_speed.py [NAMES ...]

reproduce_speed.csv has a row for every artefact and one for figures 1, 4, 5 and 6 together, which
share their plans. Wall-clock seconds from the start of the process; the machine's description is
written beside them. PlaneZip+ alone takes minutes.
"""

import csv
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from planezip.records import to_json, write_atomically
from planezip.report.artefacts.registry import ARTEFACTS
from planezip.report.machine import this_machine

FIGURES = "fig1_tensors,fig1_summary,fig1b,fig4,fig5,fig6a,fig6b"


def seconds(names: str) -> float:
    """Time of one cold call."""
    with tempfile.TemporaryDirectory() as folder:
        planezip = Path(sys.executable).with_name("planezip")
        command = [str(planezip), "reproduce", "--only", names, "--out", folder]
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.perf_counter() - start


def main(chosen: Sequence[str]) -> None:
    """Measure and write the CSV file."""
    machine = this_machine()
    folder = Path(__file__).parent / "results" / machine.slug
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    writer.writerow(("artefacts", "seconds"))
    for names in chosen or (FIGURES, *ARTEFACTS):
        taken = seconds(names)
        print(f"{names}: {taken:.1f} s", flush=True)
        writer.writerow((names.replace(",", " "), f"{taken:.1f}"))
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "reproduce_speed.csv", rows.getvalue().encode())
    write_atomically(folder / "machine.json", to_json(machine))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Measure the rivals on the same inputs, and write CSV, tables and plot.

    python -m benchmarks.codecs [--images FOLDER] [--text FILE] [RIVAL ...]

An interrupted run goes on behind the last rival that it finished. Named rivals are measured again
and replace their rows in the results that are there.
"""

import argparse
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.codecs import RIVALS
from benchmarks.codecs.inputs import save_inputs
from benchmarks.codecs.measure import Row
from benchmarks.codecs.plot import codecs_figure
from benchmarks.codecs.summary import summary

from planezip.records import to_json, write_atomically
from planezip.report.csvs import read_csv, write_csv
from planezip.report.machine import this_machine

ROOT = Path(__file__).parents[2]
# Freed memory is used again, so that no rival pays for fresh pages (glibc).
_KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "BLOSC_NTHREADS": "1"}


def main() -> None:
    arguments = _arguments()
    work = ROOT / "out" / "codecs"
    sources = [path for path in (arguments.images, arguments.text) if path]
    inputs = work / ("-".join(path.resolve().name for path in sources) or "samples")
    save_inputs(arguments.images, arguments.text, inputs)
    results = ROOT / "benchmarks" / "results" / this_machine().slug
    for rival in arguments.rivals or RIVALS:
        part = inputs / f"{rival}.csv"
        if arguments.rivals or not part.exists():
            _measure(rival, inputs, part)
    parts = [inputs / f"{rival}.csv" for rival in arguments.rivals or RIVALS]
    rows = [row for part in parts for row in read_csv(part, Row)]
    if arguments.rivals:
        before = read_csv(results / "codecs.csv", Row)
        rows += [row for row in before if row.rival not in arguments.rivals]
    _write(results, sorted(rows, key=lambda row: RIVALS.index(row.rival)))
    for part in parts:  # the next run measures again; the inputs stay
        part.unlink()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.codecs")
    parser.add_argument("--images", type=Path, help="folder of JPEG or PNG files")
    parser.add_argument("--text", type=Path, help="text file in UTF-8")
    parser.add_argument("rivals", nargs="*", metavar="RIVAL", help=", ".join(RIVALS))
    arguments = parser.parse_args()
    if unknown := set(arguments.rivals) - set(RIVALS):
        parser.error(f"no rival {', '.join(sorted(unknown))}; choose among {', '.join(RIVALS)}")
    return arguments


def _measure(rival: str, inputs: Path, out: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.codecs.measure", rival, str(inputs), str(out)]
    environment = os.environ | _KEEP_MEMORY | _ONE_THREAD
    if code := subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
        raise SystemExit(f"measuring {rival} failed with exit status {code}")


def _write(folder: Path, rows: list[Row]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "codecs.csv", Row, rows)
    write_atomically(folder / "machine.json", to_json(this_machine()))
    versions = {rival: version(rival) for rival in RIVALS}
    write_atomically(folder / "codecs.md", summary(rows, this_machine(), versions).encode())
    write_atomically(folder / "codecs.png", codecs_figure(rows))


if __name__ == "__main__":
    main()

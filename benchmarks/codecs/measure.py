"""Measure one rival, in a process of its own.

    python -m benchmarks.codecs.measure RIVAL INPUTS OUT.csv

Speeds are of CPU time, which other programs on the machine disturb less than the clock on the
wall: the median of five runs after one whose result is compared with the input.
"""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.codecs.coder import Coder, Settings, Values

from planezip.report.csvs import write_csv

REPEATS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """A setting on an input; speeds in GB of uncompressed bytes a second."""

    rival: str
    setting: str
    input: str
    dtype: str
    raw_bytes: int
    ratio: float
    encode_gb_per_s: float
    decode_gb_per_s: float


def main(rival: str, inputs: Path, out: Path) -> None:
    rows = []
    for setting, make in settings(rival).items():
        for file in sorted(inputs.glob("*.npy")):
            name, dtype = file.stem.rsplit("-", 1)
            values = np.load(file)
            numbers = measured(make(values), values, f"{rival} ({setting}), {file.stem}")
            row = Row(rival, setting, name, dtype, values.nbytes, *numbers)
            rows.append(row)
            print(f"{rival} {setting} {file.stem}:", *(f"{x:.2f}" for x in numbers), flush=True)
    write_csv(out, Row, rows)


def settings(rival: str) -> Settings:
    """The settings of a rival by name."""
    found: Settings = import_module(f"benchmarks.codecs.{rival}").SETTINGS
    return found


def measured(coder: Coder, values: Values, what: str) -> tuple[float, float, float]:
    """Ratio and speeds each way; SystemExit if a round trip changes a bit."""
    stream = coder.encode(coder.prepare(values))
    check(coder.decode(stream), values, what)
    encode_s, stream = median_s(coder.encode, lambda: coder.prepare(values))
    decode_s, restored = median_s(coder.decode, lambda: stream)
    check(restored, values, what)
    size = values.nbytes
    return size / len(stream), size / encode_s / 1e9, size / decode_s / 1e9


def check(restored: Any, values: Values, what: str) -> None:
    """SystemExit unless the bytes are those of the values."""
    got = np.frombuffer(restored, np.uint8)
    if not np.array_equal(got, values.view(np.uint8)):
        raise SystemExit(f"{what}: not restored")


def median_s(run: Callable[[Any], Any], argument: Callable[[], Any]) -> tuple[float, Any]:
    """Median CPU time of REPEATS runs in seconds, and the last result."""
    seconds = []
    for _ in range(REPEATS):
        given = argument()
        result = None  # freed before, not during the run
        start = time.process_time()
        result = run(given)
        seconds.append(time.process_time() - start)
    return statistics.median(seconds), result


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))

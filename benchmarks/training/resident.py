"""Resident memory of a training in a process of its own.

    python -m benchmarks.training.resident MODEL METHOD [IMAGES] [TEXT]

Prints the most that was resident in one step after the training has warmed up, in bytes.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from planezip.session.comparison import PROFILED_STEPS

# By default glibc keeps what is freed for later, so that resident memory shows little of what was
# saved; above this size it gives memory back at once.
ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": "65536"}


def resident_bytes(model: str, method: str, data: dict[str, Path | None]) -> int:
    """Measure in a new process."""
    files = [str(data[kind] or "") for kind in ("images", "text")]
    command = [sys.executable, "-m", "benchmarks.training.resident", model, method, *files]
    environment = {**os.environ, **ENVIRONMENT}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return int(done.stdout.split()[-1])


def _main(model: str, method: str, images: str, text: str) -> None:
    from benchmarks.training.methods import MODELS, trained_by

    data = {"images": Path(images) if images else None, "text": Path(text) if text else None}
    training = trained_by(method, next(m for m in MODELS if m.name == model), data)
    for _ in range(PROFILED_STEPS):
        training.step()
    Path("/proc/self/clear_refs").write_text("5")  # begin to measure the peak anew
    training.step()
    status = Path("/proc/self/status").read_text()
    (kib,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    print(int(kib) * 1024)


if __name__ == "__main__":
    _main(*sys.argv[1:5])

"""The machine that a result comes from, without its name."""

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from planezip.units import counted


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides how fast a run is and whether it can be repeated bit by bit."""

    cpu: str
    cores: int
    memory_gb: float
    system: str
    python: str

    def __str__(self) -> str:
        """E.g. "AMD EPYC 7763, 2 cores, 8.3 GB"."""
        return f"{self.cpu}, {counted(self.cores, 'core')}, {self.memory_gb:g} GB"

    @property
    def slug(self) -> str:
        """A folder's name for results of this machine, e.g. "amd-epyc-7763-2-cores"."""
        words = re.sub(r"\((R|TM|tm)\)|\bCPU\b|\bProcessor\b|@.*", " ", self.cpu)
        name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
        return f"{name}-{self.cores}-cores"


def this_machine() -> Machine:
    """Describe the machine that this runs on."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(pages / 1e9, 1),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
    )


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.processor() or platform.machine()

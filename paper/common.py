"""Where the results of a machine lie: paper/results/<machine>/."""

import sys
from pathlib import Path

from planezip.report.machine import this_machine

RESULTS = Path(__file__).parent / "results"


def results_folder() -> Path:
    """The folder named on the command line, or else this machine's."""
    return Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS / this_machine().slug

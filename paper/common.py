"""What the scripts of this folder have in common: their arguments, and where results lie."""

import argparse
from pathlib import Path

from planezip.report.machine import this_machine

RESULTS = Path(__file__).parent / "results"


def arguments(description: str | None) -> argparse.ArgumentParser:
    """A parser whose `out` is the folder of the CSV files: by default this machine's."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        default=RESULTS / this_machine().slug,
        help="write there instead of paper/results/<machine>",
    )
    return parser

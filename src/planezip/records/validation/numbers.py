"""Bounds of what is counted and named: 64-bit integers hold every size, no ratio is out of this
world, and every operator is in a namespace.
"""

from planezip.errors import InputError
from planezip.units import MOST_BYTES

# No codec leaves these bounds: a chunk of 4,096 bytes costs two bytes at least for its size, and a
# single byte at most a padded block with its tags.
SMALLEST_RATIO, LARGEST_RATIO = 1 / 1024, 2048.0

LONGEST_S = 1e6  # of a single operator: eleven days


def is_count(value: int) -> bool:
    return 0 <= value <= MOST_BYTES


def check_count(value: int, what: str, at_least: int = 0) -> None:
    """InputError that names `what` unless it is between `at_least` and 2^63 - 1."""
    if not at_least <= value <= MOST_BYTES:
        raise InputError(f"{what} is {value}")


def check_seconds(value: float, what: str, at_most: float = LONGEST_S) -> None:
    """InputError that names `what` unless it is a duration of at most so many seconds."""
    if not 0 <= value <= at_most:
        raise InputError(f"{what} is {value:g} s")


def check_ratio(value: float, what: str) -> None:
    """InputError that names `what` unless a codec could have this compression ratio."""
    if not SMALLEST_RATIO <= value <= LARGEST_RATIO:
        raise InputError(f"{what} is {value:g}, which no codec reaches")


def check_operator(name: str, what: str) -> None:
    """InputError that names `what` unless this is a name such as "aten.add.Tensor"."""
    namespace, dot, operator = name.partition(".")
    if not (namespace and dot and operator.partition(".")[0]):
        raise InputError(f"{what} is called {name!r}, which is no operator's name")

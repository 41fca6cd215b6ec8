"""A linear program that is built row by row."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planezip.errors import InputError

_INFEASIBLE = 2


class Optimum(NamedTuple):
    """The least sum, infinite if no values meet all constraints, and the values that reach it."""

    least: float
    values: NDArray[np.float64]


class Rows:
    """Variables from 0 to an upper limit, and constraints of the form sum <= limit."""

    def __init__(self) -> None:
        self._upper: list[float] = []
        self._row: list[int] = []
        self._column: list[int] = []
        self._value: list[float] = []
        self._limit: list[float] = []

    def variables(self, count: int, upper: float = 1.0) -> list[int]:
        """New variables, by index."""
        first = len(self._upper)
        self._upper += [upper] * count
        return list(range(first, first + count))

    def at_most(self, columns: Sequence[int], values: Sequence[float], limit: float) -> None:
        """The sum of values times variables must not be larger than the limit."""
        # Bytes and seconds differ by many orders of magnitude, which solvers bear badly.
        scale = max((abs(v) for v in values), default=0.0) or 1.0
        self._row += [len(self._limit)] * len(columns)
        self._column += [int(c) for c in columns]
        self._value += [v / scale for v in values]
        self._limit.append(limit / scale)

    def minimize(self, columns: Sequence[int]) -> Optimum:
        """The least sum of these variables.

        Raises:
            InputError: scipy is not installed.
        """
        try:
            from scipy.optimize import linprog
            from scipy.sparse import csr_array
        except ImportError:
            raise InputError("the bound needs scipy; pip install 'planezip[report]'") from None
        cost = np.zeros(len(self._upper))
        cost[list(columns)] = 1.0
        shape = (len(self._limit), len(self._upper))
        matrix = csr_array((self._value, (self._row, self._column)), shape=shape)
        bounds = [(0.0, upper) for upper in self._upper]
        solved = linprog(cost, A_ub=matrix, b_ub=self._limit, bounds=bounds, method="highs")
        if solved.status == _INFEASIBLE:
            return Optimum(float("inf"), np.zeros(len(self._upper)))
        if not solved.success:
            raise RuntimeError(f"the solver gave up: {solved.message}")
        return Optimum(max(0.0, float(solved.fun)), solved.x)

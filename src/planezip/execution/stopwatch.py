"""Time without interruptions."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Stopwatch:
    """Seconds of a pass, without what only a profiled one does.

    Attributes:
        seconds: so far, as of the latest stop.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since_s: float | None = None

    def start(self) -> None:
        self._since_s = perf_counter()

    def stop(self) -> None:
        if self._since_s is not None:
            self.seconds += perf_counter() - self._since_s
            self._since_s = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Time in here does not count."""
        runs = self._since_s is not None
        self.stop()
        try:
            yield
        finally:
            if runs:
                self.start()

"""Where the contents of every storage are while an iteration is decided as it runs."""

from collections.abc import Callable, Collection
from typing import Literal

from planezip.planning.problem import Problem
from planezip.planning.replay import NotReplayableError


class Whereabouts:
    """Where every storage's current contents are while an iteration runs.

    Attributes:
        version: storage -> how often it was written so far.
        resident: storages whose own buffer holds them.
        on_host: storages that the host holds, or will when a copy under way is complete.
        dropped: storages in use whose contents are gone.
        used_s: storage -> when it was last read or written.
        going: what the operator at hand overwrites, and what is freed after it.
        changed: is told of every storage that has moved.
    """

    def __init__(self, problem: Problem) -> None:
        self.version = dict.fromkeys(problem.uses, 0)
        self.resident: set[int] = set()
        self.on_host: set[int] = set()
        self.dropped: set[int] = set()
        self.used_s: dict[int, float] = {}
        self.changed: Callable[[int], None] = lambda storage: None
        self.going: Collection[int] = ()

    def holds(self, storage: int) -> bool:
        """Whether the current contents are somewhere."""
        return storage in self.resident or storage in self.on_host

    def available(self, storage: int, version: int) -> bool:
        """Whether a replay that runs now can read a value.

        Raises:
            NotReplayableError: it cannot, and nothing recomputes it.
        """
        return self._is_there(version, version == self.version[storage] and self.holds(storage))

    def remains(self, storage: int, version: int) -> bool:
        """Whether a replay can read a value after the operator at hand; what `available` raises."""
        kept = storage not in self.going and version == self.version[storage]
        return self._is_there(version, kept and self.holds(storage))

    def arrive(self, storage: int, now_s: float) -> None:
        """A storage was used, computed, or came back."""
        self.used_s[storage] = now_s
        if storage not in self.resident:
            self.resident.add(storage)
            self.dropped.discard(storage)
            self.changed(storage)

    def leave(self, storage: int, action: Literal["swap", "drop"]) -> None:
        """A storage is evicted."""
        self.resident.remove(storage)
        (self.on_host if action == "swap" else self.dropped).add(storage)
        if action == "drop":
            self.on_host.discard(storage)
        self.changed(storage)

    def lose(self, going: Collection[int]) -> None:
        """The operator at hand will overwrite these storages, or nobody needs them after it."""
        self.going = going
        for storage in going:
            self.changed(storage)

    def rewrite(self, storage: int) -> None:
        """An operator has written a storage."""
        self.version[storage] += 1
        self.on_host.discard(storage)
        self.dropped.discard(storage)

    def forget(self, storage: int) -> None:
        """A storage's last use is over."""
        for places in (self.resident, self.on_host, self.dropped):
            places.discard(storage)

    @staticmethod
    def _is_there(version: int, there: bool) -> bool:
        if version == 0 and not there:
            raise NotReplayableError
        return there

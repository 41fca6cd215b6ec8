"""The saved values of a pass: how they leave device memory and come back."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from planezip.execution.copies import Copier
from planezip.execution.device import Memory
from planezip.execution.journal import Journal
from planezip.execution.replay import NotReplayableError, replay
from planezip.execution.saved import Saved
from planezip.execution.tape import Tape


class Store:
    """Saved values by their index on the tape.

    Args:
        stays: whether a dropped value that a replay recomputes on its way stays for its own use.

    Attributes:
        held: how many of them autograd holds.
        waiting: how many of these it has not taken out yet.
        overflowed: the pool did not take everything.
    """

    def __init__(
        self, tape: Tape, copier: Copier, journal: Journal | None, stays: Callable[[int], bool]
    ) -> None:
        self._tape, self._copier, self._journal, self._stays = tape, copier, journal, stays
        self._saved: dict[int, Saved] = {}
        self._pins: Counter[int] = Counter()
        self._dropped_with: defaultdict[int, list[Saved]] = defaultdict(list)
        self._stay_until: defaultdict[int, list[Saved]] = defaultdict(list)
        self.waiting = self.held = 0
        self.overflowed = False

    def get(self, v: int) -> Saved | None:
        """The value, if it was saved."""
        return self._saved.get(v)

    def storages(self) -> set[int]:
        """Numbers of the storages of all values."""
        return {saved.storage for saved in self._saved.values()}

    def add(self, saved: Saved) -> None:
        """Enter a value; what its replay starts from stays as long as it does."""
        self._saved[saved.value] = saved
        for source in saved.sources:
            self._pins[source] += 1
        for waiting in self._dropped_with.pop(saved.value, ()):
            self.drop(waiting)

    def drop(self, saved: Saved) -> None:
        """Give up a value's memory as soon as all is saved that its replay starts from."""
        missing = next((s for s in saved.sources if s not in self._saved), None)
        if missing is None:
            saved.rest()
        else:
            self._dropped_with[missing].append(saved)

    def leave(self, saved: Saved, stay_until: int) -> None:
        """Let a value leave, at once or after an operator that is still to come."""
        if stay_until >= len(self._tape.ops):
            self._stay_until[stay_until].append(saved)
        else:
            saved.leave(self._copier)

    def op_over(self, index: int) -> None:
        """An operator of the forward pass has run."""
        for saved in self._stay_until.pop(index, ()):
            saved.leave(self._copier)

    def settle(self, values: Iterable[int]) -> None:
        """Wait until these have left."""
        for v in values:
            saved = self._saved.get(v)
            if saved is not None:
                saved.settle()
                self.overflowed |= saved.overflowed

    def settle_all(self) -> None:
        """Wait until everything that leaves has left."""
        for index in list(self._stay_until):
            self.op_over(index)
        self.settle(list(self._saved))

    def hold(self, saved: Saved) -> None:
        """Autograd holds one handle more of a value."""
        self.held += saved.handles == 0
        self.waiting += saved.waiting == 0
        saved.handles += 1
        saved.waiting += 1

    def taken_out(self, saved: Saved) -> None:
        """Autograd has taken a value out by one of its handles."""
        saved.waiting -= 1
        self.waiting -= saved.waiting == 0
        if saved.waiting <= 0 and not self._pins[saved.value]:
            saved.rest()

    def release(self, saved: Saved) -> None:
        """Autograd has let go of one handle of a value."""
        saved.handles -= 1
        if saved.handles:
            return
        self.held -= 1
        self.waiting -= saved.waiting > 0
        for source in saved.sources:
            self._pins[source] -= 1
            if source in self._saved:
                self._let_go(self._saved[source])
        self._let_go(saved)

    def fetch(self, values: Iterable[int]) -> None:
        """Start to bring these back."""
        for v in values:
            saved = self._saved.get(v)
            if saved is not None and saved.handles:
                saved.fetch(self._copier)

    def present(self, saved: Saved) -> Memory:
        """A value's contents in device memory.

        Raises:
            RuntimeError: it was dropped, and what it is recomputed from was changed.
        """
        memory = saved.present(self._copier)
        if memory is not None:
            return memory
        on_op = self._on_op(saved.storage) if self._journal is not None else None
        try:
            made = replay(self._tape, [saved.value], self._find, self._stays_here, on_op)
        except NotReplayableError as error:
            raise RuntimeError(self._why_not(error.value)) from None
        for v, memory in made.items():
            self._saved[v].memory = memory
        return made[saved.value]

    def _let_go(self, saved: Saved) -> None:
        if not saved.handles and not self._pins[saved.value]:
            saved.forget()
            self._saved.pop(saved.value, None)  # autograd may save it once more

    def _on_op(self, storage: int) -> Callable[[int, float], None]:
        journal = self._journal
        assert journal is not None
        return lambda op, start_s: journal.note(start_s, "replay", op, storage)

    def _stays_here(self, v: int) -> bool:
        saved = self._saved.get(v)
        return saved is not None and saved.waiting > 0 and self._stays(v)

    def _find(self, v: int) -> Memory | None:
        """The contents of a value that need not be recomputed."""
        value = self._tape.values[v]
        if value.superseded:
            return None
        if value.external:
            tensor = value.original
            changed = tensor is None or tensor._version != value.version
            return None if changed else tensor.untyped_storage()  # type: ignore[union-attr]
        saved = self._saved.get(v)
        return None if saved is None else saved.present(self._copier)

    def _why_not(self, v: int) -> str:
        original = self._tape.values[v].original
        if original is not None:
            return (
                f"an input or parameter of shape {tuple(original.shape)}, from which activations "
                "are recomputed, has been modified by an inplace operation since the forward pass"
            )
        return f"value {v} cannot be recomputed; this is a fault of PlaneZip's, please report it"

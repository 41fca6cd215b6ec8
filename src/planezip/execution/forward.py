"""One forward pass: what autograd saves in it, and how backward gets it back."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from planezip.execution.copies import Copier, Memory
from planezip.execution.geometry import geometry_of, view
from planezip.execution.profile import Moment, Profile
from planezip.execution.recorder import Recorder, is_plain
from planezip.execution.replay import NotReplayableError, replay
from planezip.execution.saved import Action, Saved
from planezip.execution.schedule import Schedule
from planezip.execution.sequence import Pack
from planezip.execution.tape import Tape


class Handle:
    """What autograd holds in the place of a saved tensor.

    Attributes:
        probe: shares the tensor's version counter, and its memory where that is not ours to take.
        version: that counter when the tensor was saved.
    """

    __slots__ = ("forward", "geometry", "probe", "saved", "version")

    def __init__(
        self, forward: "Forward", tensor: torch.Tensor, saved: Saved | None, geometry: Any = None
    ) -> None:
        self.forward, self.saved, self.geometry = forward, saved, geometry
        self.version = tensor._version
        self.probe = tensor.detach()
        if saved is not None:
            saved.handles += 1
            saved.waiting += 1
            self.probe.data = torch.empty(0, dtype=tensor.dtype, device=tensor.device)

    def __del__(self) -> None:
        saved = getattr(self, "saved", None)
        if saved is not None:
            self.forward.release(saved)


class Forward:
    """The saved values of one forward pass; lives as long as autograd holds one of them.

    Args:
        copier: makes and reads compressed copies.
        schedules: what to do for the sequences of operators that are known, the likeliest first.
        may_leave: whether a tensor may be evicted where no schedule says what to do.
        profile: writes down what happens, or None.

    Attributes:
        tape: the operators so far.
        packs: what autograd saved so far.
        schedule: the one that fits so far; None: values leave one by one as they are saved.
        left_alone: how many modules are running of which nothing is evicted.
    """

    def __init__(
        self,
        copier: Copier,
        schedules: Sequence[Schedule],
        may_leave: Callable[[torch.Tensor], bool],
        profiles: bool,
    ) -> None:
        self.tape = Tape()
        self.packs: list[Pack] = []
        self.schedule = next((s for s in schedules if s.environment == self.tape.environment), None)
        self.profile = Profile(self.tape) if profiles else None
        self.recorder: Recorder | None = Recorder(
            self.tape, self._on_op, self._on_death if profiles else None
        )
        self._copier, self._schedules, self._may_leave = copier, schedules, may_leave
        self._saved: dict[int, Saved] = {}
        self._pins: Counter[int] = Counter()
        self._leaving: list[Saved] = []
        self._left = 0
        self._unpacks = 0
        self.left_alone = 0

    def keep(self, tensor: torch.Tensor) -> None:
        """Never evict what the tensor's storage holds."""
        if self.recorder is not None and is_plain(tensor):
            self.recorder.state(tensor).fixed = True

    def finish(self) -> None:
        """The forward pass is over."""
        if self.profile is not None and self.recorder is not None:
            self.left_alone = 0
            self.profile.forward_end = len(self.tape.ops)
            self.profile.packs = self.packs
            alive = self.recorder.table.alive()
            self.profile.fixed |= alive & {self._number(v) for v in self._saved}
        else:
            self.recorder = None

    def pack(self, tensor: torch.Tensor) -> Handle:
        """Take a tensor from autograd."""
        with self._unrecorded():
            if self.recorder is None or self.left_alone or not is_plain(tensor):
                return Handle(self, tensor, None)
            state = self.recorder.state(tensor)
            value = self.tape.values[state.value]
            memory = tensor.untyped_storage()
            if state.external or state.fixed or memory.nbytes() != value.nbytes:
                return Handle(self, tensor, None)
            geometry = geometry_of(tensor)
            self._follow_pack(Pack(len(self.tape.ops), value.index, geometry))
            saved = self._saved.get(value.index) or self._enter(value.index, tensor, memory)
            return Handle(self, tensor, saved, geometry)

    def unpack(self, handle: Handle) -> torch.Tensor:
        """Give a tensor back to autograd."""
        if handle.probe._version != handle.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: a {handle.probe.dtype} tensor is at version "
                f"{handle.probe._version}; expected version {handle.version} instead"
            )
        saved: Saved | None = handle.saved
        if saved is None:
            return handle.probe
        with self._unrecorded():
            self._prefetch()
            memory = self._present(saved)
            self._note_unpack(saved, memory)
            saved.waiting -= 1
            if saved.waiting <= 0 and not self._pins[saved.value]:
                saved.rest()
            return view(memory, handle.geometry)

    def release(self, saved: Saved) -> None:
        """Autograd has let go of one handle of a value."""
        saved.handles -= 1
        if saved.handles:
            return
        for source in self._sources(saved):
            self._pins[source] -= 1
            if source in self._saved:
                self._let_go(self._saved[source])
        self._let_go(saved)

    def _enter(self, v: int, tensor: torch.Tensor, memory: Memory) -> Saved:
        saved = self._saved[v] = Saved(v, self._action(v, tensor), tensor.dtype)
        for source in self._sources(saved):
            self._pins[source] += 1
        if saved.action == "drop":
            return saved
        saved.memory = memory
        if saved.action in ("swap", "compress"):
            saved.leave(self._copier)
            self._leaving.append(saved)
            if self.schedule is None:
                saved.settle()
        if self.profile is not None and saved.copy is not None:
            self.profile.ratios[self._number(v)] = saved.copy.ratio
        return saved

    def _action(self, v: int, tensor: torch.Tensor) -> Action:
        if self.schedule is not None:
            return self.schedule.actions.get(v, "keep")
        if not self.tape.values[v].weight and self._may_leave(tensor):
            return "swap"
        if self.profile is not None:
            self.profile.fixed.add(self._number(v))
        return "keep"

    def _sources(self, saved: Saved) -> tuple[int, ...]:
        if saved.action != "drop" or self.schedule is None:
            return ()
        return self.schedule.sources[saved.value]

    def _let_go(self, saved: Saved) -> None:
        if not saved.handles and not self._pins[saved.value]:
            saved.forget()

    def _on_op(self, index: int, seconds: float) -> None:
        if self.profile is not None:
            self.profile.seconds.append(seconds)
            if self.profile.forward_end:
                return
        schedule = self.schedule
        if schedule is None:
            return
        if not schedule.sequence.has_op(index, self.tape.ops[index]):
            self._look_for_schedule()
        elif index + 1 < len(schedule.out_before):
            while self._left < min(schedule.out_before[index + 1], len(self._leaving)):
                self._leaving[self._left].settle()
                self._left += 1

    def _follow_pack(self, pack: Pack) -> None:
        index = len(self.packs)
        self.packs.append(pack)
        if self.schedule is not None and not self.schedule.sequence.has_pack(index, pack):
            self._look_for_schedule()

    def _look_for_schedule(self) -> None:
        """Another schedule that fits all that ran so far; what was dropped until now stays so."""
        self.schedule = next((s for s in self._schedules if self._fits(s)), None)
        for saved in self._leaving[self._left :]:
            saved.settle()
        self._left = len(self._leaving)

    def _fits(self, schedule: Schedule) -> bool:
        sequence = schedule.sequence
        return (
            schedule.environment == self.tape.environment
            and all(sequence.has_op(i, op) for i, op in enumerate(self.tape.ops))
            and all(sequence.has_pack(i, pack) for i, pack in enumerate(self.packs))
        )

    def _prefetch(self) -> None:
        number, self._unpacks = self._unpacks, self._unpacks + 1
        if self.schedule is not None:
            for v in self.schedule.prefetch.get(number, ()):
                if v in self._saved and self._saved[v].handles:
                    self._saved[v].fetch(self._copier)

    def _present(self, saved: Saved) -> Memory:
        memory = saved.present(self._copier)
        if memory is not None:
            return memory
        try:
            made = replay(self.tape, [saved.value], self._find, self._stays)
        except NotReplayableError as error:
            raise RuntimeError(self._why_not(error.value)) from None
        for v, memory in made.items():
            self._saved[v].memory = memory
        return made[saved.value]

    def _stays(self, v: int) -> bool:
        """Whether what a replay recomputes on its way stays for its own use."""
        saved = self._saved.get(v)
        if saved is None or self.schedule is None or v not in self.schedule.stays:
            return False
        return saved.waiting > 0

    def _find(self, v: int) -> Memory | None:
        """The contents of a value that need not be recomputed."""
        value = self.tape.values[v]
        if value.superseded:
            return None
        if value.external:
            tensor = value.original
            return (
                None
                if tensor is None or tensor._version != value.version
                else tensor.untyped_storage()
            )
        saved = self._saved.get(v)
        return None if saved is None else saved.present(self._copier)

    def _why_not(self, v: int) -> str:
        original = self.tape.values[v].original
        if original is not None:
            return (
                f"an input or parameter of shape {tuple(original.shape)}, from which activations "
                "are recomputed, has been modified by an inplace operation since the forward pass"
            )
        return f"value {v} cannot be recomputed; this is a fault of PlaneZip's, please report it"

    def _number(self, v: int) -> int:
        return self.tape.values[v].storage

    def _on_death(self, storage: int) -> None:
        if self.profile is not None:
            self.profile.moments.append(Moment("death", len(self.tape.ops), storage))

    def _note_unpack(self, saved: Saved, memory: Memory) -> None:
        if self.profile is not None and self.recorder is not None:
            if self.recorder.meter is not None:
                self.recorder.meter.see(memory)
            number = self._number(saved.value)
            self.profile.moments.append(Moment("unpack", len(self.tape.ops), number))
            self.recorder.table.enter_again(memory, number, saved.value)

    @contextmanager
    def _unrecorded(self) -> Iterator[None]:
        recorder = self.recorder
        if recorder is None or recorder.paused:
            yield
            return
        recorder.paused = True
        try:
            yield
        finally:
            recorder.paused = False

"""One forward pass: what autograd saves in it, and how backward gets it back."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from time import perf_counter
from typing import Any

import torch

from planezip.execution.copies import Copier
from planezip.execution.device import Memory
from planezip.execution.following import Following
from planezip.execution.geometry import geometry_of, view
from planezip.execution.journal import Journal
from planezip.execution.profile import Moment, Profile
from planezip.execution.recorder import Recorder, is_plain
from planezip.execution.replay import NotReplayableError, replay
from planezip.execution.saved import Saved
from planezip.execution.schedule import Schedule
from planezip.execution.sequence import Pack
from planezip.execution.tape import Tape
from planezip.records import Action


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
        if saved is None:
            self.probe = tensor.detach()
            return
        forward.hold(saved)
        # No dispatch mode needs to hear of this, and there are many of them.
        with torch._C._DisableTorchDispatch():
            self.probe = tensor.detach()
            self.probe.data = _nothing(tensor.dtype, tensor.device)

    def __del__(self) -> None:
        saved = getattr(self, "saved", None)
        if saved is not None:
            self.forward.release(saved)


@cache
def _nothing(dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.empty(0, dtype=dtype, device=device)


class Forward:
    """The saved values of one forward pass; lives as long as autograd holds one of them.

    A pass may be entered several times before its backward pass begins: what is computed then
    is part of the same pass, and under the same plan.

    Args:
        copier: makes and reads compressed copies.
        schedules: what to do for the sequences of operators that are known, the likeliest first.
        may_leave: whether a tensor may be evicted where no schedule says what to do.
        journal: notes what happens when, or None.

    Attributes:
        tape: the operators so far.
        packs: what autograd saved so far.
        profile: what a plan needs to know of the pass. None where a schedule has decided about
            something already.
        recorder: None as soon as nothing is recorded any more.
        begun: backward has taken something out.
        left_alone: how many modules are running of which nothing is evicted.
        waiting: how many saved values autograd holds and has not taken out yet.
        seconds: what its owner says that it took so far.
        overflowed: the pool did not take everything.
    """

    def __init__(
        self,
        copier: Copier,
        schedules: Sequence[Schedule],
        may_leave: Callable[[torch.Tensor], bool],
        journal: Journal | None = None,
    ) -> None:
        self.tape = Tape()
        self.packs: list[Pack] = []
        self.journal = journal
        self.recorder: Recorder | None = Recorder(self.tape, self._on_op, self._on_death)
        self.recorder.meter = None if journal is None else journal.meter
        self.profile: Profile | None = Profile(self.tape)
        self.begun = False
        self.left_alone = 0
        self.waiting = 0
        self.seconds = 0.0
        self.overflowed = False
        self._following = Following(schedules, self.tape, self.packs)
        self._copier, self._may_leave = copier, may_leave
        self._saved: dict[int, Saved] = {}
        self._pins: Counter[int] = Counter()
        self._stay_until: defaultdict[int, list[Saved]] = defaultdict(list)
        self._open = False
        self._unpacks = 0

    @property
    def schedule(self) -> Schedule | None:
        """The one that fits so far; None: values leave one by one as they are saved."""
        return self._following.schedule

    @property
    def records_backward(self) -> bool:
        """Whether somebody wants to know what backward does."""
        profiled = self.profile is not None and self.schedule is None
        return profiled or self.journal is not None

    @property
    def verified(self) -> bool:
        """Whether all operators have been run again, now or when an earlier plan was made."""
        return self.recorder is not None and self.recorder.verifies

    @property
    def continues(self) -> bool:
        """Whether what is computed next belongs to this pass, as far as it knows."""
        return self.recorder is not None and not self.begun and self.waiting > 0

    def keep(self, tensor: torch.Tensor) -> None:
        """Never evict what the tensor's storage holds."""
        if self.recorder is not None and is_plain(tensor):
            self.recorder.state(tensor).fixed = True

    def open(self) -> None:
        """The pass begins, or goes on."""
        assert self.recorder is not None
        self._open = True
        self.recorder.stopwatch.start()

    def close(self) -> None:
        """The pass is over, or interrupted."""
        self._open = False
        self.left_alone = 0
        recorder, profile = self.recorder, self.profile
        if recorder is None:
            return
        recorder.stopwatch.stop()
        if profile is not None:
            profile.forward_s = recorder.stopwatch.seconds
            profile.forward_end = len(self.tape.ops)
            profile.packs = self.packs
            profile.held = recorder.table.alive() & {s.storage for s in self._saved.values()}
        if self.begun:
            self.recorder = None

    def abandon(self) -> None:
        """Nothing more is recorded, whether or not backward comes."""
        self.recorder = self.profile = None

    def pack(self, tensor: torch.Tensor) -> Handle:
        """Take a tensor from autograd."""
        recorder = self.recorder
        with self._unrecorded():
            if recorder is None or self.left_alone or not is_plain(tensor):
                return Handle(self, tensor, None)
            state = recorder.state(tensor)
            value = self.tape.values[state.value]
            memory = tensor.untyped_storage()
            if state.external or state.fixed or memory.nbytes() != value.nbytes:
                return Handle(self, tensor, None)
            geometry = geometry_of(tensor)
            self.packs.append(Pack(len(self.tape.ops), value.index, geometry))
            if not self._following.fits_pack(len(self.packs) - 1):
                self._schedule_changed()
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
        self._begin_backward()
        if saved is None:
            return handle.probe
        with self._unrecorded():
            self._prefetch()
            memory = self._present(saved)
            self._note_unpack(saved, memory)
            saved.waiting -= 1
            self.waiting -= saved.waiting == 0
            if saved.waiting <= 0 and not self._pins[saved.value]:
                saved.rest()
            return view(memory, handle.geometry)

    def hold(self, saved: Saved) -> None:
        """Autograd holds one handle more of a value."""
        self.waiting += saved.waiting == 0
        saved.handles += 1
        saved.waiting += 1

    def release(self, saved: Saved) -> None:
        """Autograd has let go of one handle of a value."""
        saved.handles -= 1
        if saved.handles:
            return
        self.waiting -= saved.waiting > 0
        for source in saved.sources:
            self._pins[source] -= 1
            if source in self._saved:
                self._let_go(self._saved[source])
        self._let_go(saved)

    def _begin_backward(self) -> None:
        if not self.begun:
            self.begun = True
            # Backward is planned from the memory that is left when all that leaves has left.
            self._settle_all()
        if not self._open and not self.records_backward:
            self.recorder = None

    def _enter(self, v: int, tensor: torch.Tensor, memory: Memory) -> Saved:
        action = self._action(v, tensor)
        saved = self._saved[v] = Saved(v, self._number(v), action, tensor.dtype, self.journal)
        schedule = self.schedule
        if schedule is not None:
            self.profile = None
            saved.sources = schedule.sources.get(v, ()) if action == "drop" else ()
            for source in saved.sources:
                self._pins[source] += 1
        if action == "drop":
            return saved
        saved.memory = memory
        if action != "keep":
            self._let_leave(saved)
        return saved

    def _let_leave(self, saved: Saved) -> None:
        schedule = self.schedule
        stay_until = schedule.stay_until.get(saved.value, -1) if schedule is not None else -1
        if stay_until >= len(self.tape.ops):
            self._stay_until[stay_until].append(saved)
            return
        saved.leave(self._copier)
        if schedule is None:
            self._settle(saved)
            if self.profile is not None and saved.copy is not None:
                self.profile.ratios[saved.storage] = saved.copy.ratio

    def _settle(self, saved: Saved) -> None:
        saved.settle()
        self.overflowed |= saved.overflowed

    def _action(self, v: int, tensor: torch.Tensor) -> Action:
        if self.schedule is not None:
            return self.schedule.actions.get(v, "keep")
        if not self.tape.values[v].weight and self._may_leave(tensor):
            return "swap"
        if self.profile is not None:
            self.profile.fixed.add(self._number(v))
        return "keep"

    def _let_go(self, saved: Saved) -> None:
        if not saved.handles and not self._pins[saved.value]:
            saved.forget()

    def _on_op(self, index: int, seconds: float) -> None:
        if self.profile is not None:
            self.profile.seconds.append(seconds)
        if self.journal is not None:
            self.journal.note(perf_counter() - seconds, "op", index)
        if not self._open:
            return
        if not self._following.fits_op(index):
            self._schedule_changed()
        schedule = self.schedule
        if schedule is None:
            return
        for saved in self._stay_until.pop(index, ()):
            saved.leave(self._copier)
        for v in schedule.out_before.get(index + 1, ()):
            if v in self._saved:
                self._settle(self._saved[v])

    def _schedule_changed(self) -> None:
        """Another operator came than was foreseen; what was dropped until now stays so."""
        self._settle_all()
        if self.schedule is None and self.profile is not None and self.recorder is not None:
            self._verify_from_here(self.recorder)

    def _settle_all(self) -> None:
        for waiting in self._stay_until.values():
            for saved in waiting:
                saved.leave(self._copier)
        self._stay_until.clear()
        for saved in self._saved.values():
            self._settle(saved)

    def _verify_from_here(self, recorder: Recorder) -> None:
        """Nothing was decided yet, so that the pass can be profiled as if it had begun so.

        The operators so far were verified for the plan that was left, but for the latest.
        """
        recorder.verifies = True
        left = self._following.left
        known = left.sequence.unrepeatable if left is not None else frozenset()
        latest = len(self.tape.ops) - 1
        for value in self.tape.values:
            value.repeatable &= value.index not in known and value.producer != latest

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
        on_op = self._on_replay(saved.storage) if self.journal is not None else None
        try:
            made = replay(self.tape, [saved.value], self._find, self._stays, on_op)
        except NotReplayableError as error:
            raise RuntimeError(self._why_not(error.value)) from None
        for v, memory in made.items():
            self._saved[v].memory = memory
        return made[saved.value]

    def _on_replay(self, storage: int) -> Callable[[int, float], None]:
        journal = self.journal
        assert journal is not None
        return lambda op, start_s: journal.note(start_s, "replay", op, storage)

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
        if self.recorder is None:
            return
        self.recorder.table.enter_again(memory, saved.storage, saved.value)
        if self.journal is not None:
            self.journal.meter.see(memory)
        if self.profile is not None:
            self.profile.moments.append(Moment("unpack", len(self.tape.ops), saved.storage))

    @contextmanager
    def _unrecorded(self) -> Iterator[None]:
        recorder = self.recorder
        if recorder is None or recorder.paused:
            yield
            return
        with recorder.pause():
            yield

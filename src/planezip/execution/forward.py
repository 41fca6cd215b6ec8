"""One forward pass: what autograd saves in it, and how backward gets it back."""

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import torch

from planezip.execution.copies import Copier
from planezip.execution.device import Memory
from planezip.execution.following import Following
from planezip.execution.geometry import geometry_of, view
from planezip.execution.handle import Handle
from planezip.execution.journal import Journal
from planezip.execution.profile import Moment, Profile
from planezip.execution.recorder import Recorder, is_plain
from planezip.execution.saved import Saved
from planezip.execution.schedule import Schedule
from planezip.execution.sequence import Pack
from planezip.execution.store import Store
from planezip.execution.tape import Tape
from planezip.records import Action


class Forward:
    """The saved values of one forward pass; lives as long as autograd holds one of them.

    A pass may be entered several times before its backward pass begins: what is computed then
    is part of the same pass, and under the same plan.

    Args:
        copier: makes and reads compressed copies.
        schedules: what to do for the sequences of operators that are known, the likeliest first.
        may_leave: whether a tensor may be evicted where no schedule says what to do.
        journal: notes what happens when, or None.
        accumulates: whether parameters have gradients already.

    Attributes:
        tape: the operators so far.
        packs: what autograd saved so far.
        store: the values that it saved.
        profile: what a plan needs to know of the pass. None where a schedule has decided about
            something already.
        recorder: None as soon as nothing is recorded any more.
        begun: backward has taken something out.
        left_alone: how many modules are running of which nothing is evicted.
        seconds: what its owner says that it took so far.
    """

    def __init__(
        self,
        copier: Copier,
        schedules: Sequence[Schedule],
        may_leave: Callable[[torch.Tensor], bool],
        journal: Journal | None = None,
        accumulates: bool = False,
    ) -> None:
        self.tape = Tape(accumulates=accumulates)
        self.packs: list[Pack] = []
        self.journal = journal
        # No reference cycle: memory is to return without the garbage collector.
        me = [weakref.WeakMethod(m) for m in (self._on_op, self._on_death, self._pin)]
        self.recorder: Recorder | None = Recorder(
            self.tape,
            lambda *op: _call(me[0], *op),
            lambda *death: _call(me[1], *death),
            lambda *overwrite: _call(me[2], *overwrite),
        )
        self.recorder.meter = None if journal is None else journal.meter
        self.profile: Profile | None = Profile(self.tape)
        self.begun = False
        self.left_alone = 0
        self.seconds = 0.0
        self._following = Following(schedules, self.tape, self.packs)
        self.store = Store(self.tape, copier, journal, self._following.lets_stay)
        self._may_leave = may_leave
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
        return self.recorder is not None and not self.begun and self.store.waiting > 0

    def keep(self, tensor: torch.Tensor) -> None:
        """Never evict what the tensor's storage holds."""
        if self.recorder is not None and is_plain(tensor):
            state = self.recorder.state(tensor)
            state.fixed = True
            self._pin(state.value, tensor)

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
            profile.held = recorder.table.alive() & self.store.storages()

    def backward_over(self, gradients: Iterable[torch.Tensor]) -> None:
        """A backward pass is over, perhaps not the last one.

        Args:
            gradients: of parameters, which are outside the budget.
        """
        recorder, profile = self.recorder, self.profile
        outside = list(gradients)
        if profile is not None and recorder is not None:
            profile.backward_s = recorder.stopwatch.seconds - profile.forward_s
            states = map(recorder.table.find, outside)
            profile.gradients |= {state.number for state in states if state is not None}
        if self.journal is not None:
            self.journal.pause(outside)

    def abandon(self) -> None:
        """Nothing more is recorded, whether or not backward comes."""
        self.recorder = self.profile = None

    def pack(self, tensor: torch.Tensor) -> Handle:
        """Take a tensor from autograd."""
        recorder = self.recorder
        with self._unrecorded():
            if recorder is None or self.left_alone or not is_plain(tensor):
                return Handle(tensor, self.unpack)
            state = recorder.state(tensor)
            value = self.tape.values[state.value]
            memory = tensor.untyped_storage()
            if state.external or state.fixed or memory.nbytes() != value.nbytes:
                return Handle(tensor, self.unpack)
            geometry = geometry_of(tensor)
            self.packs.append(Pack(len(self.tape.ops), value.index, geometry))
            if not self._following.fits_pack(len(self.packs) - 1):
                self._schedule_changed()
            saved = self.store.get(value.index) or self._enter(value.index, tensor, memory)
            self.store.hold(saved)
            return Handle(tensor, self.unpack, saved, geometry, self.store.release)

    def unpack(self, handle: Handle) -> torch.Tensor:
        """Give a tensor back to autograd."""
        handle.check()
        saved, geometry = handle.saved, handle.geometry
        self._begin_backward()
        if saved is None or geometry is None:
            return handle.probe
        with self._unrecorded():
            if self.schedule is not None:
                self.store.fetch(self.schedule.prefetch.get(self._unpacks, ()))
            self._unpacks += 1
            memory = self.store.present(saved)
            self._note_unpack(saved, memory)
            self.store.taken_out(saved)
            return handle.tensor(view(memory, geometry))

    def _begin_backward(self) -> None:
        if not self.begun:
            self.begun = True
            # Backward is planned from the memory that is left when all that leaves has left.
            self.store.settle_all()
        if not self._open and not self.records_backward:
            self.recorder = None

    def _enter(self, v: int, tensor: torch.Tensor, memory: Memory) -> Saved:
        action, schedule = self._action(v, tensor), self.schedule
        saved = Saved(v, self.tape.values[v].storage, action, tensor.dtype, self.journal)
        if schedule is not None:
            self.profile = None
            saved.sources = schedule.sources.get(v, ())
        self.store.add(saved)
        saved.memory = memory
        if action == "drop":
            self.store.drop(saved)
        if action in ("swap", "compress"):
            self._let_leave(saved)
        return saved

    def _let_leave(self, saved: Saved) -> None:
        if self.schedule is not None:
            self.store.leave(saved, self.schedule.stay_until.get(saved.value, -1))
            return
        self.store.leave(saved, -1)
        self.store.settle([saved.value])
        if self.profile is not None and saved.copy is not None:
            self.profile.ratios[saved.storage] = saved.copy.ratio

    def _action(self, v: int, tensor: torch.Tensor) -> Action:
        if self.schedule is not None:
            return self.schedule.actions.get(v, "keep")
        if not self.tape.values[v].weight and self._may_leave(tensor):
            return "swap"
        if self.profile is not None:
            self.profile.fixed.add(self.tape.values[v].storage)
        return "keep"

    def _on_op(self, index: int, seconds: float) -> None:
        if self.profile is not None:
            self.profile.seconds.append(seconds)
        if self.journal is not None:
            self.journal.note(perf_counter() - seconds, "op", index)
        if not self._open:
            return
        if not self._following.fits_op(index):
            self._schedule_changed()
        if self.schedule is not None:
            self.store.op_over(index)
            self.store.settle(self.schedule.out_before.get(index + 1, ()))

    def _schedule_changed(self) -> None:
        """Another operator came than was foreseen; what was dropped until now stays so."""
        self.store.settle_all()
        if self.schedule is None and self.profile is not None and self.recorder is not None:
            self._verify_from_here(self.recorder)

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

    def _on_death(self, storage: int) -> None:
        if self.profile is not None:
            self.profile.moments.append(Moment("death", len(self.tape.ops), storage))

    def _pin(self, v: int, tensor: torch.Tensor) -> None:
        """What autograd has saved stays where it is.

        Some operators fill an argument that autograd has saved just before, and count no new
        version: what backward wants is what they write.
        """
        saved = self.store.get(v)
        if saved is None:
            return
        saved.pin(tensor.untyped_storage())
        if self.profile is not None:
            self.profile.fixed.add(saved.storage)

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


def _call(method: "weakref.WeakMethod[Callable[..., None]]", *args: Any) -> None:
    living = method()
    if living is not None:
        living(*args)

"""What a user writes: `with session:` around the forward pass."""

import sys
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from threading import local
from time import perf_counter
from types import TracebackType
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from planezip.errors import InputError
from planezip.execution.backward import Around, stop_watching, watch_next_backward
from planezip.execution.copies import Copier, Work
from planezip.execution.forward import Forward
from planezip.execution.gradients import gradients_of
from planezip.execution.guards import Environment
from planezip.execution.handle import Handle
from planezip.execution.pool import DEFAULT_CAPACITY_BYTES, Pool, SpillFile
from planezip.execution.profile import Profile
from planezip.execution.recorder import Recorder
from planezip.execution.schedule import Schedule
from planezip.session.entered import Hook, passes
from planezip.session.entered import leave_alone as leave_alone_hooks
from planezip.session.options import Size, check, size_bytes
from planezip.session.planning import Limits, Rates, schedule_for
from planezip.session.report import SessionReport, report_of
from planezip.session.sequences import Sequences
from planezip.session.timeline import SessionTimeline, timeline_of
from planezip.units import MOST_BYTES


class Session:
    """Keeps the activation memory of a model's training within a budget.

    Use it as a context manager around the forward pass; backward may come after it. All that is
    computed in the session before backward begins is one pass and shares the budget, be it in one
    `with` or in several. The first pass of every sequence of operators is profiled, with saved
    activations leaving memory one by one; from then on it is planned. Loss, gradients and
    everything else are those of plain training, bit for bit.

    Args:
        model: its parameters and buffers are outside the budget.
        budget: limit on activation memory in bytes, such as "2GiB".
        budget_ratio: the same as a share of what training takes without PlaneZip.
        host_pool: limit on compressed activations outside the budget.
        spill: a folder on a local disk for what the pool does not hold.
        min_bytes: smaller tensors are always kept.
        leave_alone: modules of which nothing is evicted.
        recompute: whether activations may be dropped and recomputed.
        workers: threads that compress and restore.
        enabled: if False, training is left alone; may be changed between passes.

    Raises:
        InputError: an argument cannot be used.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        budget: Size | None = None,
        *,
        budget_ratio: float | None = None,
        host_pool: Size = DEFAULT_CAPACITY_BYTES,
        spill: str | None = None,
        min_bytes: Size = 16384,
        leave_alone: torch.nn.Module | Iterable[torch.nn.Module] = (),
        recompute: bool = True,
        workers: int = 1,
        enabled: bool = True,
    ) -> None:
        check(model, budget, budget_ratio, workers)
        if isinstance(leave_alone, torch.nn.Module):
            leave_alone = [leave_alone]
        self._model = model
        self._min_bytes = size_bytes(min_bytes)
        self.enabled = enabled
        file = None if spill is None else SpillFile(spill)
        self._pool = Pool(size_bytes(host_pool), file)
        self._limits = Limits(
            budget_bytes=None if budget is None else size_bytes(budget),
            ratio=budget_ratio,
            pool_bytes=MOST_BYTES if file else size_bytes(host_pool),
            recompute=recompute,
        )
        self._copier = Copier(self._pool, workers)
        self._sequences = Sequences(self._schedule, self._limits.budget, self._copier)
        self._closed = False
        self._passes: Counter[str] = Counter()
        # Per thread, the pass that was entered last, which lives as long as autograd holds
        # something of it, and what watches for its backward pass.
        self._latest = local()
        self._hooks = [h for module in leave_alone for h in leave_alone_hooks(module)]

    def __enter__(self) -> "Session":
        """Begin a forward pass.

        Raises:
            OverBudgetError: no plan fits, as the end of the first pass has shown already.
        """
        inside = any(entered is not None and entered[-1] is self for entered in passes())
        if inside or not self.enabled or not torch.is_grad_enabled():
            passes().append(None)
            return self
        if self._closed:
            raise InputError("the session is closed; make a new one")
        if self._sequences.refused is not None:
            raise self._sequences.refused
        forward = self._unfinished() or self._begin_pass()
        recorder = forward.recorder
        assert recorder is not None
        hooks = saved_tensors_hooks(forward.pack, _unpack)
        hooks.__enter__()
        recorder.__enter__()  # type: ignore[no-untyped-call]
        forward.open()
        passes().append((forward, recorder, hooks, perf_counter(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the forward pass."""
        entered = passes().pop()
        if entered is None:
            return
        forward, recorder, hooks, start_s, _ = entered
        recorder.__exit__(kind, error, traceback)
        hooks.__exit__(kind, error, traceback)
        forward.close()
        forward.seconds += perf_counter() - start_s
        if error is not None or forward.begun:
            self._latest.forward = _no_forward
            forward.abandon()
            if error is None:
                self._passes["unplanned, since backward began inside"] += 1
            return
        self._sequences.forward_over(forward)
        self._count(forward)
        self._watch(forward)

    def attach(self) -> "Session":
        """Be around every forward pass of the model from now on, until `close`.

        For programs that call the model themselves, such as frameworks.
        """
        self._hooks += [
            self._model.register_forward_pre_hook(Hook(self._begin), prepend=True),
            self._model.register_forward_hook(Hook(self._end), always_call=True),
        ]
        return self

    def _begin(self, *_: Any) -> None:
        self.__enter__()

    def _end(self, module: torch.nn.Module, arguments: Any, result: Any) -> None:
        # Where the model raises, torch calls the hook without a result and handles the error then.
        self.__exit__(*(sys.exc_info() if result is None else (None, None, None)))

    def report(self) -> SessionReport:
        """What happened so far."""
        return report_of(
            self._model, self._limits, self._sequences, self._pool, self._copier, self._passes
        )

    def timeline(self) -> SessionTimeline:
        """What happened when in the first planned pass of the latest sequence, and what was
        predicted.

        Raises:
            InputError: no pass has been measured yet.
        """
        for known in self._sequences.known:
            if known.measured is not None:
                return timeline_of(known, self._rates(*known.work))
        raise InputError("no planned pass has been measured yet; train some steps first")

    def close(self) -> None:
        """End the worker threads and give the pool back; backward passes must be over."""
        self._closed = True
        self._leave_interrupted()
        self._forget_watch()
        for hook in self._hooks:
            hook.remove()
        self._copier.close()
        self._pool.close()

    def _leave_interrupted(self) -> None:
        """Leave passes of attached models that nobody ended: torch calls no hook on Ctrl-C."""
        while any(entered is not None and entered[-1] is self for entered in passes()):
            self.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)

    def _entered_last(self) -> Forward | None:
        found: Forward | None = getattr(self._latest, "forward", _no_forward)()
        return found

    def _unfinished(self) -> Forward | None:
        """The pass that goes on, if one does: backward has not begun and autograd holds it."""
        forward = self._entered_last()
        if forward is None or not forward.continues:
            return None
        return forward if forward.tape.environment == Environment.now() else None

    def _begin_pass(self) -> Forward:
        self._forget_watch()
        before = self._entered_last()
        if before is not None:
            self._iteration_over(before)
        mode = self._sequences.mode()
        schedules, journal = self._sequences.begin(mode)
        accumulates = any(p.grad is not None for p in self._model.parameters())
        forward = Forward(self._copier, schedules, self._may_leave, journal, accumulates)
        assert forward.recorder is not None
        forward.recorder.verifies = mode == "verify"
        self._latest.forward = weakref.ref(forward)
        return forward

    def _watch(self, forward: Forward) -> None:
        """Be around the next backward pass."""
        self._forget_watch()
        me, reference = weakref.ref(self), weakref.ref(forward)

        def around() -> Any:
            session, living = me(), reference()
            if session is None or living is None:
                return nullcontext()
            return session._around_backward(living)

        self._latest.around = around
        watch_next_backward(around)

    def _forget_watch(self) -> None:
        around: Around | None = getattr(self._latest, "around", None)
        if around is not None:
            stop_watching(around)
            self._latest.around = None

    @contextmanager
    def _around_backward(self, forward: Forward) -> Iterator[None]:
        """Around a backward pass that follows a forward pass of this session."""
        recorder = forward.recorder
        self._latest.around = None
        start_s = perf_counter()
        if recorder is None or not forward.records_backward:
            yield
        else:
            with recorder, _running(recorder):
                yield
        forward.seconds += perf_counter() - start_s
        forward.backward_over(gradients_of(self._model))
        # Some of the graph may still be there, and used yet. A plan is made from what is used once;
        # what a retained graph takes as well is measured.
        measures = forward.journal is not None
        if forward.store.held if measures else forward.store.waiting:
            self._watch(forward)
        else:
            self._iteration_over(forward)

    def _iteration_over(self, forward: Forward) -> None:
        """No backward pass that this one belongs to will come any more."""
        self._latest.forward = _no_forward
        if not forward.begun:
            return
        profile, journal, verified = forward.profile, forward.journal, forward.verified
        recorder = forward.recorder
        forward.abandon()
        if forward.schedule is not None:
            if journal is None:
                self._sequences.ran(forward, forward.seconds)
            else:
                self._sequences.measured(forward, journal)
        elif profile is not None and recorder is not None:
            profile.finish(recorder)
            self._pool.shrink()  # plans swap less than passes without one
            self._sequences.profiled(profile, verified)

    def _schedule(self, profile: Profile, out: Work, back: Work, excess_bytes: int) -> Schedule:
        name = type(self._model).__name__
        return schedule_for(profile, self._rates(out, back), self._limits, name, excess_bytes)

    def _rates(self, out: Work, back: Work) -> Rates:
        return Rates.measured(out, back, self._copier.workers)

    def _may_leave(self, tensor: torch.Tensor) -> bool:
        return tensor.untyped_storage().nbytes() >= self._min_bytes

    def _count(self, forward: Forward) -> None:
        if forward.schedule is not None:
            self._passes["planned"] += 1
        else:
            self._passes["profiled" if forward.profile is not None else "left its plan"] += 1


@contextmanager
def _running(recorder: Recorder) -> Iterator[None]:
    recorder.stopwatch.start()
    try:
        yield
    finally:
        recorder.stopwatch.stop()


def _no_forward() -> None:
    """In the place of a weak reference."""


def _unpack(handle: Handle) -> torch.Tensor:
    return handle.unpack(handle)

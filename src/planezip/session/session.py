"""What a user writes: `with session:` around the forward pass."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import local
from types import TracebackType
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from planezip.errors import InputError
from planezip.execution.backward import stop_watching, watch_next_backward
from planezip.execution.copies import Copier
from planezip.execution.forward import Forward, Handle
from planezip.execution.meter import Meter
from planezip.execution.pool import DEFAULT_CAPACITY_BYTES, Pool, SpillFile
from planezip.execution.profile import Profile
from planezip.execution.schedule import Schedule
from planezip.session.planning import Rates, schedule_for
from planezip.session.report import SessionReport
from planezip.units import MOST_BYTES, parse_bytes

Size = int | str

_open = local()
"""Per thread, `stack`: forward passes under way, None where a session is switched off."""


@dataclass(slots=True, eq=False)
class _Planned:
    """A sequence of operators that has a plan.

    Attributes:
        measured_peak_bytes: activation memory of its first planned pass, None before that.
    """

    schedule: Schedule
    measured_peak_bytes: int | None = None


class Session:
    """Keeps the activation memory of a model's training within a budget.

    Use it as a context manager around the forward pass; backward may come after it. The first pass
    of every sequence of operators is profiled, with saved activations leaving memory one by one;
    from then on it is planned. Loss, gradients and everything else are those of plain training, bit
    for bit.

    Args:
        model: its parameters and buffers are outside the budget.
        budget: limit on activation memory in bytes, such as "2GiB".
        budget_ratio: the same as a share of what training takes without PlaneZip.
        host_pool: limit on compressed activations outside the budget.
        spill: a folder on a local disk for what the pool does not hold.
        min_bytes: smaller tensors are always kept.
        leave_alone: modules of which nothing is evicted.
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
        leave_alone: Iterable[torch.nn.Module] = (),
        workers: int = 1,
        enabled: bool = True,
    ) -> None:
        _check(model, budget, budget_ratio, workers)
        self._model, self._ratio = model, budget_ratio
        self._budget_bytes = None if budget is None else _bytes(budget)
        self._min_bytes = _bytes(min_bytes)
        self.enabled = enabled
        file = None if spill is None else SpillFile(spill)
        self._pool = Pool(_bytes(host_pool), file)
        self._capacity_bytes = MOST_BYTES if file else _bytes(host_pool)
        self._copier = Copier(self._pool, workers)
        self._planned: list[_Planned] = []
        self._passes: Counter[str] = Counter()
        self._finished: Profile | None = None
        self._watching: Forward | None = None
        self._unknown = True  # the next forward pass may run a sequence that has no plan
        self._hooks = [h for module in leave_alone for h in _leave_alone(module)]

    def __enter__(self) -> "Session":
        """Begin a forward pass.

        Raises:
            OverBudgetError: no plan fits; it names the smallest budget that one was found for.
        """
        stack = _stack()
        if not self.enabled or not torch.is_grad_enabled():
            stack.append(None)
            return self
        self._forget_watch()
        self._plan()
        unmeasured = bool(self._planned) and self._planned[0].measured_peak_bytes is None
        schedules = [p.schedule for p in self._planned]
        forward = Forward(
            self._copier, schedules, self._may_leave, profiles=self._unknown or unmeasured
        )
        recorder = forward.recorder
        assert recorder is not None
        recorder.verifies = self._unknown
        if unmeasured:
            recorder.meter = Meter()
        hooks = saved_tensors_hooks(forward.pack, _unpack)
        recorder.__enter__()  # type: ignore[no-untyped-call]
        hooks.__enter__()
        stack.append((forward, recorder, hooks))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the forward pass."""
        entered = _stack().pop()
        if entered is None:
            return
        forward, recorder, hooks = entered
        hooks.__exit__(kind, error, traceback)
        recorder.__exit__(kind, error, traceback)
        recorder.verifies = False
        forward.finish()
        if error is not None:
            forward.recorder = None
            return
        self._unknown = forward.schedule is None
        self._count(forward)
        if forward.profile is not None:
            self._watching = forward
            watch_next_backward(lambda: self._watched(forward))

    def attach(self) -> None:
        """Be around every forward pass of the model from now on, until `close`.

        For programs that call the model themselves, such as frameworks.
        """
        self._hooks += [
            self._model.register_forward_pre_hook(lambda *_: self._begin(), prepend=True),
            self._model.register_forward_hook(lambda *_: self._end(), always_call=True),
        ]

    def _begin(self) -> None:
        self.__enter__()

    def _end(self) -> None:
        self.__exit__(None, None, None)

    def report(self) -> SessionReport:
        """What happened so far."""
        latest = self._planned[0] if self._planned else None
        schedule = latest.schedule if latest else None
        outside = {
            t.untyped_storage()._cdata: t.untyped_storage().nbytes()
            for t in (*self._model.parameters(), *self._model.buffers())
        }
        return SessionReport(
            budget_bytes=schedule.plan.budget_bytes if schedule else self._budget_bytes,
            plain_peak_bytes=schedule.plain_peak_bytes if schedule else None,
            planned_peak_bytes=schedule.planned_peak_bytes if schedule else None,
            measured_peak_bytes=latest.measured_peak_bytes if latest else None,
            predicted_s=schedule.plan.predicted_s if schedule else None,
            actions=schedule.actions_by_size() if schedule else {},
            outside_bytes=sum(outside.values()),
            pool_used_bytes=self._pool.used_bytes,
            pool_peak_bytes=self._pool.peak_bytes,
            spilled_bytes=self._pool.spilled_bytes,
            ratio=self._copier.out.ratio,
            passes=dict(self._passes),
            sequences=len(self._planned),
        )

    def close(self) -> None:
        """End the worker threads and give the pool back; backward passes must be over."""
        self._forget_watch()
        for hook in self._hooks:
            hook.remove()
        self._copier.close()
        self._pool.close()

    @contextmanager
    def _watched(self, forward: Forward) -> Iterator[None]:
        """Around the backward pass of a forward pass that is profiled or measured."""
        recorder, profile = forward.recorder, forward.profile
        self._watching = None
        if recorder is None or profile is None:
            yield
            return
        try:
            with recorder:
                yield
            if forward.schedule is None:
                profile.finish(recorder, self._model.parameters())
                self._finished = profile
            elif recorder.meter is not None:
                self._measure(forward.schedule, recorder.meter)
        finally:
            forward.recorder = None

    def _forget_watch(self) -> None:
        if self._watching is not None:
            self._watching.recorder = None
            self._watching = None
            stop_watching()

    def _measure(self, schedule: Schedule, meter: Meter) -> None:
        gradients = [p.grad for p in self._model.parameters() if p.grad is not None]
        for planned in self._planned:
            if planned.schedule is schedule:
                planned.measured_peak_bytes = meter.peak_bytes(gradients)

    def _plan(self) -> None:
        """Make a schedule for what has been profiled."""
        profile, self._finished = self._finished, None
        if profile is None:
            return
        self._planned.insert(0, _Planned(self._schedule(profile)))
        self._unknown = False

    def _schedule(self, profile: Profile) -> Schedule:
        rates = Rates.measured(self._copier)
        return schedule_for(
            profile, rates, self._budget, self._capacity_bytes, type(self._model).__name__
        )

    def _budget(self, peak_bytes: int) -> int:
        if self._budget_bytes is not None:
            return self._budget_bytes
        assert self._ratio is not None
        return int(peak_bytes * self._ratio)

    def _may_leave(self, tensor: torch.Tensor) -> bool:
        return tensor.untyped_storage().nbytes() >= self._min_bytes

    def _count(self, forward: Forward) -> None:
        if forward.schedule is None:
            self._passes["profiled" if forward.profile is not None else "left its plan"] += 1
            return
        self._passes["planned"] += 1
        # The plan that fitted last is the likeliest to fit next.
        self._planned.sort(key=lambda planned: planned.schedule is not forward.schedule)


def keep(tensor: torch.Tensor) -> torch.Tensor:
    """Let no session evict the tensor's storage in the forward pass that is under way."""
    for entered in _stack():
        if entered is not None:
            forward: Forward = entered[0]
            forward.keep(tensor)
    return tensor


def _leave_alone(module: torch.nn.Module) -> list[Any]:
    """Hooks that let pass what a module saves."""
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"leave_alone holds a {type(module).__name__}; give modules of the model")

    def change(by: int) -> None:
        for entered in _stack():
            if entered is not None:
                entered[0].left_alone += by

    return [
        module.register_forward_pre_hook(lambda *_: change(1)),
        module.register_forward_hook(lambda *_: change(-1), always_call=True),
    ]


def _stack() -> list[Any]:
    if not hasattr(_open, "stack"):
        _open.stack = []
    stack: list[Any] = _open.stack
    return stack


def _unpack(handle: Handle) -> torch.Tensor:
    return handle.forward.unpack(handle)


def _check(model: Any, budget: Any, budget_ratio: Any, workers: Any) -> None:
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"model is of type {type(model).__name__}; give a torch.nn.Module")
    if (budget is None) == (budget_ratio is None):
        raise InputError("give either budget, such as '2GiB', or budget_ratio, such as 0.5")
    if budget_ratio is not None and not (_is_number(budget_ratio) and 0 < budget_ratio <= 1):
        raise InputError(f"budget_ratio is {budget_ratio!r}; give a number above 0 and up to 1")
    if not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers is {workers!r}; give 1 or more")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _bytes(size: Size) -> int:
    if isinstance(size, str):
        return parse_bytes(size)
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise InputError(f"{size!r} is not a size; write for example '2GiB' or 4096")
    return size

"""What a user writes: `with session:` around the forward pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from planezip.errors import InputError
from planezip.execution.backward import stop_watching, watch_next_backward
from planezip.execution.copies import Copier
from planezip.execution.forward import Forward, Handle
from planezip.execution.pool import DEFAULT_CAPACITY_BYTES, Pool, SpillFile
from planezip.execution.profile import Profile
from planezip.execution.schedule import Schedule
from planezip.session.planning import Rates, schedule_for
from planezip.units import parse_bytes

Size = int | str


class Session:
    """Keeps the activation memory of a model's training within a budget.

    Use it as a context manager around the forward pass; backward may come after it. The first pass
    of every sequence of operators is profiled, with saved activations leaving memory one by one;
    from then on it is planned.

    Args:
        model: its parameters and buffers are outside the budget.
        budget: limit on activation memory in bytes, such as "2GiB".
        budget_ratio: the same as a share of what training takes without PlaneZip.
        host_pool: limit on compressed activations outside the budget.
        spill: a folder on a local disk for what the pool does not hold.
        min_bytes: smaller tensors are always kept.
        workers: threads that compress and restore.
        enabled: if False, training is left alone.

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
        workers: int = 1,
        enabled: bool = True,
    ) -> None:
        if not isinstance(model, torch.nn.Module):
            raise InputError(f"model is of type {type(model).__name__}; give a torch.nn.Module")
        if (budget is None) == (budget_ratio is None):
            raise InputError("give either budget, such as '2GiB', or budget_ratio, such as 0.5")
        self._model, self._ratio = model, budget_ratio
        self._budget_bytes = None if budget is None else _bytes(budget)
        self._min_bytes = _bytes(min_bytes)
        self.enabled = enabled
        self._pool = Pool(_bytes(host_pool), SpillFile(spill) if spill is not None else None)
        self._copier = Copier(self._pool, workers)
        self._schedules: list[Schedule] = []
        self._finished: Profile | None = None
        self._unknown = True  # the next forward pass may run a sequence that has no schedule
        self._open: list[Any] = []

    def __enter__(self) -> "Session":
        if not self.enabled or not torch.is_grad_enabled():
            self._open.append(None)
            return self
        self._plan()
        forward = Forward(self._copier, self._schedules, self._may_leave, self._unknown)
        recorder = forward.recorder
        assert recorder is not None
        recorder.verifies = self._unknown
        hooks = saved_tensors_hooks(forward.pack, _unpack)
        recorder.__enter__()
        hooks.__enter__()
        self._open.append((forward, recorder, hooks))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        entered = self._open.pop()
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
        if forward.profile is not None:
            if forward.schedule is None:
                watch_next_backward(lambda: self._watched(forward))
            else:
                forward.recorder = None

    @contextmanager
    def _watched(self, forward: Forward) -> Iterator[None]:
        recorder, profile = forward.recorder, forward.profile
        assert recorder is not None and profile is not None
        try:
            with recorder:
                yield
            profile.note_gradients(recorder, self._model.parameters())
            self._finished = profile
        finally:
            forward.recorder = None

    def _plan(self) -> None:
        """Make a schedule for what has been profiled."""
        stop_watching()
        profile, self._finished = self._finished, None
        if profile is None:
            return
        schedule = self._schedule(profile)
        for value in profile.tape.values:
            value.original = None
        self._schedules.insert(0, schedule)
        self._unknown = False

    def _schedule(self, profile: Profile) -> Schedule:
        rates = Rates.measured(self._copier)
        return schedule_for(profile, rates, self._budget, type(self._model).__name__)

    def _budget(self, peak_bytes: int) -> int:
        if self._budget_bytes is not None:
            return self._budget_bytes
        assert self._ratio is not None
        return int(peak_bytes * self._ratio)

    def _may_leave(self, tensor: torch.Tensor) -> bool:
        return tensor.untyped_storage().nbytes() >= self._min_bytes

    def close(self) -> None:
        """End the worker threads and give the pool back."""
        stop_watching()
        self._copier.close()
        self._pool.close()


def _unpack(handle: Handle) -> torch.Tensor:
    return handle.forward.unpack(handle)


def _bytes(size: Size) -> int:
    if isinstance(size, str):
        return parse_bytes(size)
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise InputError(f"{size!r} is not a size; write for example '2GiB' or 4096")
    return size

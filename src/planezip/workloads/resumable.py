"""Training that an interruption costs less than a minute of (paper IV needs hundreds of steps)."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
import xxhash

from planezip.errors import InputError
from planezip.units import counted
from planezip.workloads.checkpoints import Checkpoints
from planezip.workloads.progress import Progress

_SAVE_WITHIN_S = 50.0

OnStep = Callable[[int, int, float], None]
"""Called after every step with the steps done, the steps to do, and the loss."""


@dataclass(frozen=True)
class WarmUp:
    """What a warm-up did.

    Attributes:
        losses: training loss of every step, those before an interruption included.
        resumed_after: steps that a checkpoint already held.
        notes: what a reader must know, such as a damaged checkpoint or a cache out of reach.
    """

    losses: tuple[float, ...]
    resumed_after: int = 0
    notes: tuple[str, ...] = ()


@dataclass
class Training:
    """A training run that keeps checkpoints.

    Attributes:
        name: of what is trained, for messages.
        model, optimizer: changed in place.
        loss: computes the loss of a step, as that of the whole run depends on the step alone.
        checkpoints: None keeps none.
        remedy: what to do about a loss that is no number.
    """

    name: str
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    loss: Callable[[int], torch.Tensor]
    checkpoints: Checkpoints | None
    remedy: str

    def run(self, steps: int, on_step: OnStep | None = None) -> WarmUp:
        """Train up to so many steps, from where the furthest usable checkpoint is.

        A checkpoint is written before a minute of work could be lost, unless one step takes longer,
        and at the end. InputError if the loss became infinite or not a number.
        """
        losses, notes = self._resume(steps)
        resumed_after = saved_after = len(losses)
        saved_at_s = last_s = time.monotonic()
        for step in range(resumed_after, steps):
            losses.append(self._step(step))
            if on_step:
                on_step(step + 1, steps, losses[-1])
            now_s = time.monotonic()
            step_s, last_s = now_s - last_s, now_s
            due = step + 1 == steps or now_s + step_s - saved_at_s >= _SAVE_WITHIN_S
            if due and self._save(losses, notes):
                if saved_after > resumed_after and self.checkpoints:
                    self.checkpoints.discard(saved_after)
                saved_after, saved_at_s = step + 1, (last_s := time.monotonic())
        return WarmUp(tuple(losses), resumed_after, tuple(notes))

    def _resume(self, steps: int) -> tuple[list[float], list[str]]:
        if self.checkpoints:
            try:
                return self.checkpoints.resume(steps, self.model, self.optimizer)
            except InputError as error:
                self.checkpoints = None
                return [], [_kept_none(error)]
        return [], []

    def _save(self, losses: list[float], notes: list[str]) -> bool:
        if not self.checkpoints:
            return False
        progress = Progress(tuple(losses), self.model.state_dict(), self.optimizer.state_dict())
        try:
            self.checkpoints.save(progress)
        except InputError as error:
            self.checkpoints = None
            notes.append(_kept_none(error))
            return False
        return True

    def _step(self, step: int) -> float:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(step)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        value = float(loss.detach())
        if not math.isfinite(value):
            done = counted(step + 1, "training step")
            raise InputError(f"the loss of {self.name} is {value} after {done}; {self.remedy}")
        return value


def digest(tensors: Iterable[torch.Tensor]) -> str:
    """Digest of the values: another initialisation or another way to crop is another training."""
    total = xxhash.xxh3_128()
    for tensor in tensors:
        total.update(tensor.detach().reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def _kept_none(why: object) -> str:
    return f"keeps no warm-up checkpoints: {why}"

"""Trains twice from the same beginning, plainly and within a session, and compares every bit."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter

import torch

from planezip.execution.gradients import gradients_of
from planezip.execution.meter import Meter, Metering
from planezip.session.report import SessionReport
from planezip.session.session import Session
from planezip.session.timeline import SessionTimeline


@dataclass(frozen=True)
class Training:
    """Something to train.

    Attributes:
        loss: computes the loss of a step, counted from 0.
    """

    model: torch.nn.Module
    loss: Callable[[int], torch.Tensor]
    optimizer: torch.optim.Optimizer


@dataclass
class Run:
    """One training.

    Attributes:
        losses: by step.
        seconds: forward and backward, by step.
        peak_bytes: activation memory of the last step, parameters and their gradients left out.
        state: parameters, buffers, gradients, optimizer state and the random generator at the end.
    """

    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0
    state: dict[str, list[torch.Tensor]] = field(default_factory=dict)

    def step_s(self, first: int) -> float:
        """Median time of the steps from `first` on, but for the last, whose memory was counted;
        that of the last if there are no others."""
        return median(self.seconds[first:-1] or self.seconds[-1:])


@dataclass(frozen=True)
class Comparison:
    """Both trainings.

    Attributes:
        plain: None if it was left out.
        equal: what was compared -> whether all of its bits are the same.
        timeline: of the first planned step.
    """

    plain: Run | None
    session: Run
    report: SessionReport
    equal: dict[str, bool]
    timeline: SessionTimeline


PROFILED_STEPS = 3
"""Steps at the beginning of a session that are not as later ones: two profiled, one measured."""

OnStep = Callable[[str, int, float], None]
"""Called with "plain" or "session", the step and its loss."""


def compare(
    make: Callable[[], Training],
    session_of: Callable[[torch.nn.Module], Session],
    steps: int,
    plainly: bool = True,
    on_step: OnStep | None = None,
) -> Comparison:
    """Train `steps` steps.

    Args:
        make: makes the training, random numbers seeded, the same every time.
        steps: PROFILED_STEPS or more.
        plainly: train without a session first, to compare with.
    """
    plain = _train(make(), None, steps, on_step) if plainly else None
    training = make()
    session = session_of(training.model)
    try:
        run = _train(training, session, steps, on_step)
        report, timeline = session.report(), session.timeline()
    finally:
        session.close()
    equal = {} if plain is None else {k: _same(plain.state[k], run.state[k]) for k in run.state}
    return Comparison(plain, run, report, equal, timeline)


def _train(training: Training, session: Session | None, steps: int, on_step: OnStep | None) -> Run:
    run = Run()
    for step in range(steps):
        training.optimizer.zero_grad()
        last = step == steps - 1
        start = perf_counter()
        if last:
            meter = Meter()
            with Metering(meter):
                loss = _step(training, session, step)
            gradients = list(gradients_of(training.model))
            run.peak_bytes = meter.peak_bytes(gradients)
        else:
            loss = _step(training, session, step)
        run.seconds.append(perf_counter() - start)
        if last:
            run.state["gradients"] = [t.clone() for t in gradients]
        training.optimizer.step()
        run.losses.append(float(loss))
        if on_step:
            on_step("plain" if session is None else "session", step, run.losses[-1])
    run.state = {"losses": [torch.tensor(run.losses, dtype=torch.float64)], **run.state}
    run.state |= _state(training)
    return run


def _step(training: Training, session: Session | None, step: int) -> torch.Tensor:
    if session is None:
        loss = training.loss(step)
    else:
        with session:
            loss = training.loss(step)
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.detach()


def _state(training: Training) -> dict[str, list[torch.Tensor]]:
    model, optimizer = training.model, training.optimizer
    return {
        "parameters": [p.detach().clone() for p in model.parameters()],
        "buffers": [b.detach().clone() for b in model.buffers()],
        "optimizer state": [t.clone() for s in optimizer.state.values() for t in _tensors(s)],
        "random numbers": [torch.get_rng_state()],
    }


def _tensors(state: dict[str, object]) -> Iterator[torch.Tensor]:
    return (value for value in state.values() if isinstance(value, torch.Tensor))


def _same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return len(a) == len(b) and all(
        x.dtype == y.dtype and x.shape == y.shape and torch.equal(_raw(x), _raw(y))
        for x, y in zip(a, b, strict=True)
    )


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)

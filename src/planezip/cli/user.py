"""Traces and captures of a user's own model. Imports torch."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from itertools import count
from typing import Any

from planezip.cli.output import say, stage
from planezip.cli.training import CaptureOptions, in_tensors, warm_up_title
from planezip.errors import InputError
from planezip.records import Capture, Trace
from planezip.tracing import capture_steps, trace_step
from planezip.tracing.arguments import check_contents, check_loss
from planezip.units import counted
from planezip.workloads import (
    NO_CACHE,
    UserModel,
    UserStep,
    WarmUp,
    cache_folder,
    seeded,
    warm_up_user,
)


def trace_user(step: UserStep, batch: int | None) -> Trace:
    """One training iteration on tensors that have shapes but no data."""
    with prints_on_stderr(), step.blamed(), step.without_data(batch) as made, seeded(0):
        return trace_step(
            lambda: made.loss(0),
            made.model,
            made.optimizer,
            name=step.name,
            batch_size=made.batch,
        ).trace


def capture_user(step: UserStep, options: CaptureOptions) -> Capture:
    """Train for some steps, then train on and compress what is saved."""
    if options.pretrained:
        raise InputError(f"{step.name} makes its own weights; leave out --pretrained")
    with prints_on_stderr(), step.blamed(), seeded(options.seed):
        made = checked(step.make(options.batch, options.seed))
        check_contents((*made.model.parameters(), *made.model.buffers()))
        warmed = _warmed_up(step, made, options)
        done = len(warmed.losses)
        steps = count(done)
        with stage(f"capture {counted(options.iterations, 'iteration')}") as advance:
            return capture_steps(
                lambda: made.loss(next(steps)),
                made.model,
                made.optimizer,
                [()] * options.iterations,
                name=step.name,
                weights=f"own + {counted(done, 'warm-up step')}" if done else "own",
                data="its own",
                notes=warmed.notes,
                batch_size=made.batch,
                seed=options.seed,
                on_tensor=in_tensors(advance, options.iterations),
            )


def checked(made: UserModel) -> UserModel:
    """The model with a loss that is refused in one line unless backward can start from it."""

    def loss(step: int) -> Any:
        value = made.loss(step)
        check_loss(value)
        return value

    return replace(made, loss=loss)


def _warmed_up(step: UserStep, made: UserModel, options: CaptureOptions) -> WarmUp:
    steps, cache = options.warmup_steps, cache_folder()
    if not steps:
        return WarmUp(())
    with stage(warm_up_title(steps)) as advance:
        warmed = warm_up_user(
            step,
            made,
            steps,
            seed=options.seed,
            cache=cache,
            on_step=lambda done, total, _: advance(done, total),
        )
        advance.title = warm_up_title(steps, warmed.resumed_after)
    notes = warmed.notes if cache else (NO_CACHE, *warmed.notes)
    for note in notes:
        say(note)
    return WarmUp(warmed.losses, warmed.resumed_after, notes)


@contextmanager
def prints_on_stderr() -> Iterator[None]:
    """stdout holds results alone: what a user's code or its child processes print goes to stderr.

    The file itself is exchanged as well as Python's object for it, since others write there, too.
    """
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)

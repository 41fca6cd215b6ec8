"""Traces and captures of a user's own model. Imports torch."""

from planezip.cli.output import stage
from planezip.cli.training import CaptureOptions, counted
from planezip.errors import InputError
from planezip.records import Capture, Trace
from planezip.tracing import capture_steps, trace_step
from planezip.workloads import UserStep


def trace_user(step: UserStep, batch: int | None) -> Trace:
    """One training iteration on tensors that have shapes but no data."""
    with step.blamed(), step.without_data(batch) as (model, compute_loss, size):
        optimizer = step.optimizer(model)
        return trace_step(compute_loss, model, optimizer, name=step.name, batch_size=size).trace


def capture_user(step: UserStep, options: CaptureOptions) -> Capture:
    """Train for some steps, then train on and compress what is saved."""
    if options.pretrained:
        raise InputError(f"{step.name} makes its own weights; leave out --pretrained")
    with step.blamed():
        model, compute_loss, size = step.make(options.batch, options.seed)
        optimizer = step.optimizer(model)
        steps = options.warmup_steps
        if steps:
            with stage(f"warm up {steps} steps") as advance:
                step.train(compute_loss, optimizer, steps, lambda done: advance(done, steps))
        with stage(f"capture {options.iterations} iterations") as advance:
            return capture_steps(
                compute_loss,
                model,
                optimizer,
                [()] * options.iterations,
                name=step.name,
                weights=f"own + {steps} warm-up steps" if steps else "own",
                data="its own",
                batch_size=size,
                seed=options.seed,
                on_tensor=counted(advance, options.iterations),
            )

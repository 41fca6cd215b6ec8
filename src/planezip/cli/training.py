"""Running models: traces on the meta device, captures on the CPU. Imports torch."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from planezip.cli.output import Advance, say, stage
from planezip.records import Capture, Trace
from planezip.tracing import capture_steps, trace_step
from planezip.workloads import (
    Data,
    Workload,
    cache_folder,
    load_pretrained,
    warm_up,
    workload,
)

FINE_TUNING_RATE = 1e-3
"""Learning rate from pretrained weights: their training ended with a small one."""


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """How to capture.

    Attributes:
        batch: items in a batch, None for the workload's own choice.
        iterations: consecutive training iterations.
        images: folder of photographs, None for the default ones.
        pretrained: start from trained weights if they are reachable.
        warmup_steps: training steps before the capture unless pretrained weights are loaded.
        seed: of weights and batches.
    """

    batch: int | None = None
    iterations: int = 3
    images: Path | None = None
    pretrained: bool = False
    warmup_steps: int = 0
    seed: int = 0


def trace_model(name: str, batch: int | None = None) -> Trace:
    """One training iteration of a workload on the meta device, by default at the paper's batch."""
    chosen = workload(name)
    size = batch or chosen.batch
    with torch.device("meta"):
        model = chosen.build().train()
        items = chosen.placeholder(size)
    return trace_step(
        chosen.compute_loss(model),
        model,
        chosen.optimizer(model),
        items,
        name=chosen.name,
        batch_size=size,
    ).trace


def capture_model(name: str, options: CaptureOptions) -> Capture:
    """Prepare the weights, then train on real batches and compress what is saved."""
    chosen = workload(name)
    data = chosen.data(options.images, options.seed)
    prepared = _prepare(chosen, data, options)
    size = options.batch or chosen.capture_batch
    batches = (data.batch(prepared.steps + i, size) for i in range(options.iterations))
    with stage(f"capture {options.iterations} iterations") as advance:
        return capture_steps(
            chosen.compute_loss(prepared.model),
            prepared.model,
            prepared.optimizer,
            batches,
            name=chosen.name,
            weights=prepared.weights,
            data=data.description,
            notes=prepared.notes,
            seed=options.seed,
            on_tensor=_counted(advance, options.iterations),
        )


@dataclass(frozen=True, slots=True)
class _Prepared:
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    weights: str
    steps: int
    notes: tuple[str, ...]


def _prepare(chosen: Workload, data: Data, options: CaptureOptions) -> _Prepared:
    """Pretrained weights if they are asked for and reachable, else random ones, warmed up."""
    model = chosen.model(options.seed)
    notes: list[str] = []
    if options.pretrained:
        refusal = load_pretrained(chosen, model)
        if refusal is None:
            optimizer = chosen.optimizer(model, FINE_TUNING_RATE)
            return _Prepared(model, optimizer, "pretrained", 0, ())
        notes.append(refusal)
        say(f"{refusal}; starting from random weights instead")
    optimizer = chosen.optimizer(model)
    if not options.warmup_steps:
        return _Prepared(model, optimizer, "random", 0, tuple(notes))
    with stage(f"warm up {options.warmup_steps} steps") as advance:
        warmed = warm_up(
            chosen,
            model,
            optimizer,
            data,
            options.warmup_steps,
            batch=options.batch,
            seed=options.seed,
            cache=cache_folder(),
            on_step=lambda done, total, _: advance(done, total),
        )
    weights = f"random + {options.warmup_steps} warm-up steps"
    return _Prepared(model, optimizer, weights, options.warmup_steps, (*notes, *warmed.notes))


def _counted(advance: Advance, iterations: int) -> Callable[[int, int], None]:
    """Progress in tensors; how many an iteration has is known after the first."""
    per_iteration = 0

    def on_tensor(iteration: int, done: int) -> None:
        nonlocal per_iteration
        if iteration:
            advance(iteration * per_iteration + done, iterations * per_iteration)
        else:
            per_iteration = done
            advance(done, None)

    return on_tensor

"""Running models: traces on the meta device, captures on the CPU. Imports torch."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from planezip.cli.memory import return_freed_memory
from planezip.cli.output import Advance, say, stage
from planezip.errors import InputError
from planezip.records import Capture, Trace
from planezip.tracing import capture_steps, trace_step
from planezip.units import counted
from planezip.workloads import (
    Data,
    Prepared,
    Workload,
    cache_folder,
    user_step,
    warmed_up,
    with_pretrained_weights,
    workload,
)


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """How to capture.

    Attributes:
        batch: items in a batch, None for the workload's own choice.
        iterations: consecutive training iterations.
        source: folder of photographs or text file, whichever the workload trains on; None for what
            an installed package ships.
        pretrained: start from trained weights if they are reachable.
        warmup_steps: training steps before the capture unless pretrained weights are loaded.
        seed: of weights and batches.
        autocast: capture in BF16 mixed precision; the warm-up stays in FP32.
    """

    batch: int | None = None
    iterations: int = 3
    source: Path | None = None
    pretrained: bool = False
    warmup_steps: int = 0
    seed: int = 0
    autocast: bool = False


def data_source(name: str, images: Path | None, text: Path | None) -> Path | None:
    """Which of the two the workload trains on; InputError if the other one is given."""
    if user_step(name):
        if images or text:
            raise InputError(f"{name} brings its own data along; leave out --images and --text")
        return None
    needed = workload(name).source
    given = {"images": images, "text": text}
    for other, path in given.items():
        if path is not None and other != needed:
            raise InputError(f"{name} does not train on {_SOURCES[other]}; give {_SOURCES[needed]}")
    return given[needed]


def trace_model(
    name: str, batch: int | None = None, tokens: int | None = None, autocast: bool = False
) -> Trace:
    """One training iteration without data, by default at the paper's batch and length.

    With `autocast` a workload computes in BF16 mixed precision.
    """
    if step := user_step(name):
        if tokens is not None:
            raise InputError(f"{name} makes its own data; leave out --tokens")
        from planezip.cli.user import trace_user

        return trace_user(step, batch)
    chosen = workload(name, tokens)
    size = batch or chosen.batch
    with chosen.without_data(size, autocast) as (model, items):
        return trace_step(
            chosen.compute_loss(model, autocast),
            model,
            chosen.optimizer(model),
            items,
            name=chosen.name,
            batch_size=size,
        ).trace


def capture_model(name: str, options: CaptureOptions) -> Capture:
    """Prepare the weights, then train on real batches and compress what is saved."""
    return_freed_memory()
    if step := user_step(name):
        from planezip.cli.user import capture_user

        return capture_user(step, options)
    chosen = workload(name)
    data = chosen.data(options.source, options.seed)
    prepared, notes = _prepare(chosen, data, options)
    size = options.batch or chosen.capture_batch
    batches = (data.batch(prepared.steps + i, size) for i in range(options.iterations))
    with stage(f"capture {counted(options.iterations, 'iteration')}") as advance:
        return capture_steps(
            chosen.compute_loss(prepared.model, options.autocast),
            prepared.model,
            prepared.optimizer,
            batches,
            name=chosen.name,
            weights=prepared.weights,
            data=data.description,
            notes=(*notes, *prepared.notes),
            seed=options.seed,
            on_tensor=in_tensors(advance, options.iterations),
        )


_SOURCES = {"images": "photographs (--images FOLDER)", "text": "a text (--text FILE)"}


def _prepare(
    chosen: Workload, data: Data, options: CaptureOptions
) -> tuple[Prepared, tuple[str, ...]]:
    """Pretrained weights if they are asked for and reachable, else random ones, warmed up."""
    notes: tuple[str, ...] = ()
    if options.pretrained:
        found = with_pretrained_weights(chosen, options.seed)
        if isinstance(found, Prepared):
            return found, ()
        notes = (found,)
        say(f"{found}; starting from random weights instead")
    with ExitStack() as stages:
        title = warm_up_title(options.warmup_steps)
        advance = stages.enter_context(stage(title)) if options.warmup_steps else None
        prepared = warmed_up(
            chosen,
            data,
            options.warmup_steps,
            batch=options.batch,
            seed=options.seed,
            cache=cache_folder(),
            on_step=lambda done, total, _: advance(done, total) if advance else None,
        )
        if advance:
            advance.title = warm_up_title(options.warmup_steps, prepared.resumed_after)
    return prepared, notes


def warm_up_title(steps: int, resumed_after: int = 0) -> str:
    """What the stage is called, with the steps that it did not have to make."""
    title = f"warm up {counted(steps, 'step')}"
    return f"{title} ({resumed_after} from a checkpoint)" if resumed_after else title


def in_tensors(advance: Advance, iterations: int) -> Callable[[int, int], None]:
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

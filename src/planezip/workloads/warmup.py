"""Trains a workload for some steps, so that captures show a model in training (paper IV)."""

import inspect
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import torch
import xxhash

from planezip.errors import InputError
from planezip.workloads.checkpoints import Checkpoints
from planezip.workloads.progress import Progress
from planezip.workloads.workload import Data, Workload

_SAVE_EVERY_S = 45.0

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


def warm_up(
    workload: Workload,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    data: Data,
    steps: int,
    *,
    batch: int | None = None,
    seed: int = 0,
    cache: Path | None = None,
    on_step: OnStep | None = None,
) -> WarmUp:
    """Train for `steps` steps, resuming from and keeping checkpoints in `cache`.

    Model and optimizer are changed in place. The same arguments give the same weights whether or
    not the training was interrupted, up to the reproducibility of torch's own kernels.

    Args:
        model: as `workload.model(seed)` makes it.
        optimizer: of the model, as `workload.optimizer` makes it.
        data: the batches; step i takes data.batch(i, batch).
        batch: items in a batch; by default the workload's capture batch.
        seed: the model's, also of the random operators in it.
        cache: folder of the checkpoints; None keeps none. About a minute of work can be lost.
        on_step: told of every step.

    Raises:
        InputError: the loss became infinite or not a number; or a batch cannot be made.
    """
    size = workload.capture_batch if batch is None else batch
    checkpoints = _checkpoints(workload, model, optimizer, data, size, seed, cache)
    losses: list[float] = []
    notes: list[str] = []
    if checkpoints:
        try:
            losses, notes = checkpoints.resume(steps, model, optimizer)
        except InputError as error:
            notes.append(f"keeps no warm-up checkpoints: {error}")
            checkpoints = None
    resumed_after = saved_after = len(losses)
    last_save_s = time.monotonic()
    for step in range(resumed_after, steps):
        losses.append(_train_step(workload, model, optimizer, data, step, size, seed))
        done = len(losses)
        if on_step:
            on_step(done, steps, losses[-1])
        due = done == steps or time.monotonic() - last_save_s >= _SAVE_EVERY_S
        if checkpoints and due:
            progress = Progress(tuple(losses), model.state_dict(), optimizer.state_dict())
            try:
                checkpoints.save(progress)
            except InputError as error:
                notes.append(f"keeps no warm-up checkpoints: {error}")
                checkpoints = None
                continue
            if saved_after > resumed_after:
                checkpoints.discard(saved_after)
            saved_after, last_save_s = done, time.monotonic()
    return WarmUp(tuple(losses), resumed_after, tuple(notes))


def _checkpoints(
    workload: Workload,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    data: Data,
    size: int,
    seed: int,
    cache: Path | None,
) -> Checkpoints | None:
    if cache is None:
        return None
    settings = [{k: v for k, v in g.items() if k != "params"} for g in optimizer.param_groups]
    libraries = ("planezip", "numpy", "pillow", "timm", "torch", *workload.libraries)
    versions = [version(library) for library in libraries]
    identity = (
        workload.name,
        _digest(model.state_dict().values()),
        _digest(data.batch(0, size)),
        inspect.getsource(workload.loss),
        data.fingerprint,
        size,
        seed,
        settings,
        versions,
    )
    return Checkpoints(cache, workload.name, identity)


def _digest(tensors: Iterable[torch.Tensor]) -> str:
    """Digest of the values: another initialisation or another way to crop is another training."""
    digest = xxhash.xxh3_128()
    for tensor in tensors:
        digest.update(tensor.detach().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _train_step(
    workload: Workload,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    data: Data,
    step: int,
    size: int,
    seed: int,
) -> float:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(hash((seed, step)))
        optimizer.zero_grad(set_to_none=True)
        loss = workload.loss(model, data.batch(step, size))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    value = float(loss.detach())
    if not math.isfinite(value):
        raise InputError(f"the loss is {value} after {step + 1} steps; lower the learning rate")
    return value

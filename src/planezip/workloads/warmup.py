"""Trains a workload for some steps, so that captures show a model in training (paper IV)."""

import inspect
from importlib.metadata import version
from pathlib import Path

import torch

from planezip.workloads.checkpoints import Checkpoints
from planezip.workloads.resumable import OnStep, Training, WarmUp, digest
from planezip.workloads.workload import Data, Workload


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
        cache: folder of the checkpoints; None keeps none. Less than a minute of work can be lost.
        on_step: told of every step.

    Raises:
        InputError: the loss became infinite or not a number; or a batch cannot be made.
    """
    size = workload.capture_batch if batch is None else batch

    def loss(step: int) -> torch.Tensor:
        torch.manual_seed(hash((seed, step)))
        return workload.loss(model, data.batch(step, size))

    checkpoints = _checkpoints(workload, model, optimizer, data, size, seed, cache)
    remedy = "train fewer steps, or with another seed, larger batches or other data"
    training = Training(workload.name, model, optimizer, loss, checkpoints, remedy)
    with torch.random.fork_rng(devices=[]):
        return training.run(steps, on_step)


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
        digest(model.state_dict().values()),
        digest(data.batch(0, size)),
        inspect.getsource(workload.loss),
        data.fingerprint,
        size,
        seed,
        settings,
        versions,
    )
    return Checkpoints(cache, workload.name, identity)

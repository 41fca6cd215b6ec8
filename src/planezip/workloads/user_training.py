"""The warm-up of a user's own model: resumable like that of the paper's models."""

import hashlib
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from planezip.units import counted
from planezip.workloads.blame import is_beside
from planezip.workloads.checkpoints import Checkpoints
from planezip.workloads.resumable import OnStep, Training, WarmUp, digest
from planezip.workloads.seeds import seed_all, seeded
from planezip.workloads.user import LEARNING_RATE, UserModel, UserStep

_LIBRARIES = ("planezip", "numpy", "timm", "tokenizers", "torch", "torchvision", "transformers")
_NO_PLAIN_STATE = (
    "keeps no warm-up checkpoints: the model's state_dict holds something else than plain tensors"
)


def warm_up_user(
    step: UserStep,
    made: UserModel,
    steps: int,
    *,
    seed: int = 0,
    cache: Path | None = None,
    on_step: OnStep | None = None,
) -> WarmUp:
    """Train what `step.make(batch, seed)` made, resuming from checkpoints in `cache`.

    What the model's state dictionary holds and the random numbers of every step are those of an
    uninterrupted training. What the user's code keeps besides starts anew, such as the position of
    an iterator over data; a loss that is told the step can do without, a note warns of others.

    Raises:
        InputError: the loss became infinite or not a number.
    """
    notes: tuple[str, ...] = ()
    checkpoints = None
    if cache and not _is_plain(made.model):
        notes = (_NO_PLAIN_STATE,)
    elif cache:
        checkpoints = Checkpoints(cache, "own", _identity(step, made, seed))

    def loss(index: int) -> torch.Tensor:
        seed_all(hash((seed, index)))
        return made.loss(index)

    remedy = f"the optimizer is SGD with a learning rate of {LEARNING_RATE:g}: scale the loss down"
    training = Training(step.name, made.model, made.optimizer, loss, checkpoints, remedy)
    with seeded(seed):
        done = training.run(steps, on_step)
    if done.resumed_after and not made.by_step:
        notes += (
            f"resumed after {counted(done.resumed_after, 'warm-up step')}; data that the file "
            "iterates over began anew, unless compute_loss has a parameter step to take it by",
        )
    return replace(done, notes=(*notes, *done.notes))


def _identity(step: UserStep, made: UserModel, seed: int) -> tuple[object, ...]:
    """All that decides the course of the training, as far as it can be seen."""
    versions = {}
    for library in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[library] = version(library)
    weights = digest(made.model.state_dict().values())
    trained = [name for name, p in made.model.named_parameters() if p.requires_grad]
    sources = tuple(_sources(step.path))
    return (step.function, sources, weights, trained, made.batch, seed, LEARNING_RATE, versions)


def _sources(path: Path) -> Iterator[tuple[str, str]]:
    """Names and contents of the user's file and of the modules that it imported from its folder."""
    yield "", hashlib.sha256(path.read_bytes()).hexdigest()
    for name, module in sorted(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "")
        if file.suffix == ".py" and is_beside(file, path) and file.resolve() != path.resolve():
            yield name, hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _is_plain(model: torch.nn.Module) -> bool:
    """Whether the state can be written to a file, and compared, bit by bit."""
    return all(
        type(value) in (torch.Tensor, torch.nn.Parameter)
        and value.layout == torch.strided
        and not value.is_quantized
        for value in model.state_dict().values()
    )

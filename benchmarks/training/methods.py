"""Ways to train the same model from the same beginning."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter

import torch
from torch import nn
from torch.autograd.graph import save_on_cpu
from torch.utils.checkpoint import checkpoint

from planezip import Session
from planezip.execution.gradients import gradients_of
from planezip.execution.meter import Meter, Metering
from planezip.workloads import workload


@dataclass(frozen=True)
class Model:
    """A workload at a size that takes the CPU some seconds a step.

    Attributes:
        blocks: what checkpointing recomputes at a time, as lists of submodules.
        tokens: length of a sequence, None for photographs.
        relu: whether many activations are outputs of ReLUs.
    """

    name: str
    batch: int
    blocks: tuple[str, ...]
    tokens: int | None = None
    relu: bool = False


MODELS = (
    Model("resnet50", 8, ("layer1", "layer2", "layer3", "layer4"), relu=True),
    Model("vit_base_patch16_224", 4, ("blocks",)),
    Model("gpt2", 2, ("model.transformer.h",), tokens=256),
)


class Training:
    """One model, trained in one way.

    Args:
        around: gives the context of a forward pass.
    """

    def __init__(self, chosen: Model, data: dict[str, Path | None]) -> None:
        made = workload(chosen.name, chosen.tokens)
        self.model = made.model()
        self._optimizer = made.optimizer(self.model)  # no state: many trainings are in memory
        self._loss = made.compute_loss(self.model)
        self._batches = made.data(data[made.source], 0)
        self._size, self._steps = chosen.batch, 0
        self._around: Callable[[], AbstractContextManager[object]] = nullcontext
        self.session: Session | None = None
        self._random = torch.get_rng_state()  # trainings that take turns draw the same numbers
        self.losses: list[float] = []
        self.seconds: list[float] = []

    def within(self, session: Session) -> None:
        """Train within a session from now on."""
        self.session = session
        self._around = lambda: session

    def saving_on_cpu(self) -> None:
        """Train with torch's own offloading from now on."""
        self._around = save_on_cpu

    def checkpointing(self, blocks: tuple[str, ...]) -> None:
        """Recompute every block from now on."""
        for block in chain.from_iterable(self.model.get_submodule(name) for name in blocks):
            _checkpoint(block)

    def step(self) -> None:
        """One step; the time of forward and backward counts."""
        torch.set_rng_state(self._random)
        batch = self._batches.batch(self._steps, self._size)
        self._steps += 1
        self._optimizer.zero_grad()
        start_s = perf_counter()
        with self._around():
            loss = self._loss(*batch)
        loss.backward()  # type: ignore[no-untyped-call]
        self.seconds.append(perf_counter() - start_s)
        self._optimizer.step()
        self._random = torch.get_rng_state()
        self.losses.append(float(loss.detach()))

    def peak_bytes(self) -> int:
        """Activation memory of one more step."""
        meter = Meter()
        with Metering(meter):
            self.step()
        return meter.peak_bytes(gradients_of(self.model))

    def rest(self) -> None:
        """Let others have the memory of the gradients until the next step."""
        self._optimizer.zero_grad()


def _checkpoint(block: nn.Module) -> None:
    forward = block.forward
    block.forward = partial(checkpoint, forward, use_reentrant=False)  # type: ignore[method-assign]


def trained_by(method: str, chosen: Model, data: dict[str, Path | None]) -> Training:
    """The training that `method` names: "plain", "checkpoint", "save_on_cpu", a share of plain
    memory such as "50%", or the same with "copies" for nothing recomputed."""
    torch.manual_seed(0)
    training = Training(chosen, data)
    if method == "checkpoint":
        training.checkpointing(chosen.blocks)
    elif method == "save_on_cpu":
        training.saving_on_cpu()
    elif method != "plain":
        share, _, copies = method.partition("% ")
        ratio = float(share.rstrip("%")) / 100
        training.within(Session(training.model, budget_ratio=ratio, recompute=not copies))
    return training

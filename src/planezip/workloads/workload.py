"""What a model of the paper needs to be trained: itself, its loss, optimizer and data."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import torch
from torch._subclasses.fake_tensor import FakeCopyMode, FakeTensorMode

Batch = tuple[torch.Tensor, ...]
"""Inputs and targets."""


class Data(Protocol):
    """Training batches that depend on nothing but seed and step, so that training can resume."""

    @property
    def description(self) -> str:
        """What the batches are made from, for people."""

    @property
    def fingerprint(self) -> str:
        """Changes when the batches would."""

    def batch(self, step: int, size: int) -> Batch:
        """The batch of `size` items for a training step; the same one whenever asked."""


@dataclass(frozen=True)
class Workload:
    """A model with everything needed to train it (paper Table I).

    Attributes:
        name: what the command line calls it.
        title: what the paper calls it.
        batch: items in a training batch.
        capture_batch: items in a batch of the runs on the CPU that captures are made from.
        learning_rate: that trains it from random initialisation at `capture_batch`.
        build: makes the model from the global random state, on the default device.
        checkpoint: name of timm's checkpoint of trained weights on the Hugging Face hub, if any.
        placeholder: makes a batch of `size` items with the right shapes and types, on the default
            device; its contents mean nothing.
        data: makes batches from a folder or file (None: from what an installed package ships) and
            a seed.
        loss: mean loss of a model over a batch, a scalar tensor.
        source: what `data` takes: a folder of photographs or a text file.
        adam: it trains with AdamW, which language models need, rather than with plain SGD.
        fake: its operators differ on the meta device, as those of autocast and fused attention do,
            so that tensors without data must pretend to be on the CPU.
        libraries: packages beyond those of all workloads whose version decides how it trains.
    """

    name: str
    title: str
    batch: int
    capture_batch: int
    learning_rate: float
    build: Callable[[], torch.nn.Module]
    checkpoint: str | None
    placeholder: Callable[[int], Batch]
    data: Callable[[Path | None, int], Data]
    loss: Callable[[torch.nn.Module, Batch], torch.Tensor]
    source: Literal["images", "text"] = "images"
    adam: bool = False
    fake: bool = False
    libraries: tuple[str, ...] = ()

    def compute_loss(
        self, model: torch.nn.Module, autocast: bool = False
    ) -> Callable[..., torch.Tensor]:
        """The loss of `model` as a function of the members of a batch.

        With `autocast` it is computed in BF16 mixed precision on the CPU.
        """

        def loss(*batch: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext():
                return self.loss(model, batch)

        return loss

    @contextmanager
    def without_data(
        self, size: int, autocast: bool = False
    ) -> Iterator[tuple[torch.nn.Module, Batch]]:
        """The model in training mode and a batch of `size` items that have shapes but no contents.

        They are meta tensors or, if the workload says so or for `autocast`, which the meta device
        does not have, fake ones, which can be computed with only inside this context.
        """
        if self.fake:
            with FakeTensorMode():
                yield self.build().train(), self.placeholder(size)
        elif autocast:
            # Built with contents, since timm looks at some, then copied without.
            mode, built = FakeTensorMode(), self.build().train()
            with FakeCopyMode(mode):
                model = copy.deepcopy(built)
            del built
            with mode:
                yield model, self.placeholder(size)
        else:
            with torch.device("meta"):
                model, batch = self.build().train(), self.placeholder(size)
            yield model, batch

    def model(self, seed: int = 0) -> torch.nn.Module:
        """The model in training mode with random weights that depend on `seed` alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.build().train()

    def optimizer(
        self, model: torch.nn.Module, learning_rate: float | None = None
    ) -> torch.optim.Optimizer:
        """Plain SGD, one update operator for every parameter tensor; what traces run."""
        rate = self.learning_rate if learning_rate is None else learning_rate
        return torch.optim.SGD(model.parameters(), lr=rate, foreach=False)

    def trainer(
        self, model: torch.nn.Module, learning_rate: float | None = None
    ) -> torch.optim.Optimizer:
        """What trains the model before and while it is captured."""
        if not self.adam:
            return self.optimizer(model, learning_rate)
        rate = self.learning_rate if learning_rate is None else learning_rate
        return torch.optim.AdamW(model.parameters(), lr=rate, fused=True)

"""Weights to capture from: trained, warmed up, or random; and what a report must say of them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from planezip.units import counted
from planezip.workloads.pretrained import load_pretrained
from planezip.workloads.warmup import warm_up
from planezip.workloads.workload import Data, Workload

FINE_TUNING_RATE = 1e-3
"""Learning rate from pretrained weights: their training ended with a small one."""

NO_CACHE = (
    "keeps no warm-up checkpoints: there is no cache folder; set XDG_CACHE_HOME or HOME to have one"
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model that is ready to be captured.

    Attributes:
        weights: where the weights came from: "pretrained", "random", or
            "random + N warm-up steps".
        steps: batches that the warm-up used.
        notes: what a reader must know, such as a checkpoint that was not reachable.
        resumed_after: those of the steps that an earlier run had made and kept.
    """

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    weights: str
    steps: int
    notes: tuple[str, ...]
    resumed_after: int = 0


def with_pretrained_weights(chosen: Workload, seed: int) -> Prepared | str:
    """The model with timm's trained weights, or one line that says why they cannot be had."""
    model = chosen.model(seed)
    refusal = load_pretrained(chosen, model)
    if refusal is not None:
        return refusal
    return Prepared(model, chosen.trainer(model, FINE_TUNING_RATE), "pretrained", 0, ())


def warmed_up(
    chosen: Workload,
    data: Data,
    steps: int,
    *,
    batch: int | None,
    seed: int,
    cache: Path | None,
    on_step: Callable[[int, int, float], None] | None = None,
) -> Prepared:
    """The model with random weights, trained for a number of steps; see `warm_up`.

    Without a `cache`, as where `cache_folder` knows none, a note says that nothing is kept.
    """
    model = chosen.model(seed)
    optimizer = chosen.trainer(model)
    if not steps:
        return Prepared(model, optimizer, weights_after(0), 0, ())
    warmed = warm_up(
        chosen, model, optimizer, data, steps, batch=batch, seed=seed, cache=cache, on_step=on_step
    )
    notes = warmed.notes if cache else (NO_CACHE, *warmed.notes)
    return Prepared(model, optimizer, weights_after(steps), steps, notes, warmed.resumed_after)


def weights_after(steps: int) -> str:
    """What a capture calls random weights that were trained for so many steps."""
    return f"random + {counted(steps, 'warm-up step')}" if steps else "random"

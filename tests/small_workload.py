"""A workload that trains in milliseconds."""

from dataclasses import dataclass

import torch
from torch import nn

from planezip.workloads import Batch, Workload


@dataclass(frozen=True)
class Noise:
    """Two separable classes of random points."""

    seed: int = 0
    description: str = "noise"
    fingerprint: str = "noise"

    def batch(self, step: int, size: int) -> Batch:
        generator = torch.Generator().manual_seed(1000 * self.seed + step)
        labels = torch.randint(2, (size,), generator=generator)
        return torch.randn(size, 4, generator=generator) + 2.0 * labels[:, None], labels


def small_workload() -> Workload:
    """A perceptron with dropout and batch norm."""
    return Workload(
        name="small",
        title="Small",
        batch=16,
        capture_batch=8,
        learning_rate=0.1,
        build=lambda: nn.Sequential(
            nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2)
        ),
        checkpoint=None,
        placeholder=lambda size: (torch.zeros(size, 4), torch.zeros(size, dtype=torch.int64)),
        data=lambda folder, seed: Noise(seed),
        loss=lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
    )

"""A workload that trains in a blink on the same photographs as the real ones."""

import torch

from planezip.workloads import Workload
from planezip.workloads.photographs import Photographs, sample_photographs

CLASSES, PIXELS, LAYERS = 10, 16, 6


def tinynet() -> Workload:
    """Some convolutions and a classifier, under the name of a model that the paper has."""
    return Workload(
        name="resnet50",
        title="ResNet-50",
        batch=16,
        capture_batch=2,
        learning_rate=0.01,
        build=_build,
        checkpoint=None,
        placeholder=lambda size: (
            torch.zeros(size, 3, PIXELS, PIXELS),
            torch.zeros(size, dtype=torch.int64),
        ),
        data=_data,
        loss=lambda model, batch: torch.nn.functional.cross_entropy(model(batch[0]), batch[1]),
    )


def _build() -> torch.nn.Module:
    layers: list[torch.nn.Module] = [torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8)]
    for _ in range(LAYERS):
        layers += [torch.nn.ReLU(inplace=True), torch.nn.Conv2d(8, 8, 3, padding=1)]
    head = [torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(128, CLASSES)]
    return torch.nn.Sequential(*layers, *head)


def _data(folder, seed: int) -> Photographs:
    if folder is None:
        return sample_photographs(seed, CLASSES, PIXELS)
    return Photographs.from_folder(folder, seed, CLASSES, PIXELS)

"""Image classifiers from timm, trained on photographs (paper Table I)."""

from pathlib import Path
from typing import Any

import torch

from planezip.workloads.photographs import Photographs, sample_photographs
from planezip.workloads.workload import Batch, Workload

CLASSES = 1000
PIXELS = 224


def resnet50() -> Workload:
    """ResNet-50: 25.6 M parameters, batch 128."""
    return _timm_classifier(
        "resnet50", "ResNet-50", "timm/resnet50.a1_in1k", batch=128, learning_rate=0.01
    )


def densenet121() -> Workload:
    """DenseNet-121: 8.0 M parameters, batch 128."""
    return _timm_classifier(
        "densenet121", "DenseNet-121", "timm/densenet121.ra_in1k", batch=128, learning_rate=0.01
    )


def efficientnet_b0() -> Workload:
    """EfficientNet-B0: 5.3 M parameters, batch 128."""
    return _timm_classifier(
        "efficientnet_b0",
        "EfficientNet-B0",
        "timm/efficientnet_b0.ra_in1k",
        batch=128,
        learning_rate=0.01,
    )


def vit_base_patch16_224() -> Workload:
    """ViT-B/16 with attention that saves its probabilities: 86.6 M parameters, batch 64."""
    return _timm_classifier(
        "vit_base_patch16_224",
        "ViT-B/16",
        "timm/vit_base_patch16_224.augreg2_in21k_ft_in1k",
        batch=64,
        learning_rate=0.01,
    )


def _timm_classifier(
    name: str, title: str, checkpoint: str, batch: int, learning_rate: float
) -> Workload:
    return Workload(
        name=name,
        title=title,
        batch=batch,
        capture_batch=8,
        learning_rate=learning_rate,
        build=lambda: _build(name),
        checkpoint=checkpoint,
        placeholder=_placeholder,
        data=_data,
        loss=_cross_entropy,
    )


def _build(name: str) -> torch.nn.Module:
    import timm

    model: Any = timm.create_model(name, num_classes=CLASSES)
    # timm decides by the build of torch whether attention is fused; the paper's is not.
    for module in model.modules():
        if hasattr(module, "fused_attn"):
            module.fused_attn = False
    built: torch.nn.Module = model
    return built


def _placeholder(size: int) -> Batch:
    return torch.zeros(size, 3, PIXELS, PIXELS), torch.zeros(size, dtype=torch.int64)


def _data(folder: Path | None, seed: int) -> Photographs:
    if folder is None:
        return sample_photographs(seed, CLASSES, PIXELS)
    return Photographs.from_folder(folder, seed, CLASSES, PIXELS)


def _cross_entropy(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    images, labels = batch
    return torch.nn.functional.cross_entropy(model(images), labels)

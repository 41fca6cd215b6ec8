"""The contents: saved activations of two models by operator kind, and random numbers.

The activations are outputs in training mode of ResNet-50 and ViT-S/16 with random weights: the
front of every output in equal shares.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import timm
import torch
from torch import nn

from planezip.workloads.photographs import Photographs, sample_photographs

BYTES = 24 << 20  # of each input, in either precision
_PASSES, _BATCH, _PIXELS = 8, 8, 224
# Else timm starts the last normalisation of every residual branch with a scale of 0: all zeros.
_OPTIONS = {"resnet50": {"zero_init_last": False}}
_KINDS: dict[str, dict[str, type[nn.Module]]] = {
    "resnet50": {"conv": nn.Conv2d, "norm": nn.BatchNorm2d, "relu": nn.ReLU, "pool": nn.MaxPool2d},
    "vit_small_patch16_224": {"linear": nn.Linear, "gelu": nn.GELU},
}


def save_inputs(photographs: Path | None, folder: Path) -> None:
    """Write every input that is not there yet as INPUT-bf16.npy (uint16) and INPUT-fp32.npy."""
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "done"
    if done.exists():
        return
    for name, values in _inputs(photographs):
        half = values[: BYTES // 2].bfloat16().view(torch.uint16)
        np.save(folder / f"{name}-bf16.npy", half.numpy())
        np.save(folder / f"{name}-fp32.npy", values[: BYTES // 4].numpy())
    done.touch()


def _inputs(photographs: Path | None) -> Iterator[tuple[str, torch.Tensor]]:
    random = torch.Generator().manual_seed(0)
    gaussian = torch.randn(BYTES // 2, generator=random)
    yield "gaussian", gaussian
    yield "gaussian-relu", gaussian.relu()
    data = (
        Photographs.from_folder(photographs, 0, 1000, _PIXELS)
        if photographs
        else sample_photographs(0, 1000, _PIXELS)
    )
    for model in _KINDS:
        yield from _activations(model, data).items()


def _activations(name: str, data: Photographs) -> dict[str, torch.Tensor]:
    """Operator kind -> FP32 values. BF16 inputs take BYTES / 2 of them."""
    torch.manual_seed(0)
    model = timm.create_model(name, **_OPTIONS.get(name, {})).train()
    outputs: dict[str, list[torch.Tensor]] = {}
    for module in model.modules():
        for kind, module_type in _KINDS[name].items():
            if isinstance(module, module_type):
                kept = outputs.setdefault(kind, [])
                module.register_forward_hook(_keeper(kept))
        if hasattr(module, "fused_attn"):  # else softmax is hidden in one kernel
            module.fused_attn = False
            kept = outputs.setdefault("softmax", [])
            module.attn_drop.register_forward_hook(_keeper(kept))  # which drops nothing
    parts: dict[str, list[torch.Tensor]] = {kind: [] for kind in outputs}
    with torch.no_grad():
        for step in range(_PASSES):
            model(data.batch(step, _BATCH)[0])
            for kind, kept in outputs.items():
                parts[kind] += _fronts(kept, BYTES // 2 // _PASSES)
                kept.clear()
    random = torch.Generator().manual_seed(0)
    return {kind: _mixed(fronts, random) for kind, fronts in parts.items()}


def _keeper(kept: list[torch.Tensor]) -> Callable[[object, object, torch.Tensor], None]:
    """A hook that keeps copies of outputs, which the next operator may overwrite."""
    return lambda _module, _inputs, output: kept.append(output.clone())


def _fronts(outputs: list[torch.Tensor], values: int) -> list[torch.Tensor]:
    share = min(1, values / sum(output.numel() for output in outputs))
    return [output.flatten()[: int(output.numel() * share) & ~2047] for output in outputs]


def _mixed(fronts: list[torch.Tensor], random: torch.Generator) -> torch.Tensor:
    """All fronts, in an order in which every half holds outputs of early and late layers."""
    order = torch.randperm(len(fronts), generator=random).tolist()
    return torch.cat([fronts[i] for i in order])

"""Real activations and synthetic corner cases: what the paper validated its encoders on."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn

BLOCK_BYTES = 128
SAMPLE = 16_384  # elements of every module's output


def _photographs() -> torch.Tensor:
    """scikit-learn's two sample photographs, cropped and normalised: (2, 3, 224, 224) float32."""
    from sklearn.datasets import load_sample_images

    crops = [image[100:324, 200:424] for image in load_sample_images().images]
    pixels = np.stack(crops).transpose(0, 3, 1, 2).astype(np.float32) / 255
    return torch.from_numpy((pixels - 0.45) / 0.25)


def _outputs(model: str, kinds: dict[str, type[nn.Module]]) -> dict[str, torch.Tensor]:
    """What the modules of each kind put out in one forward pass, the beginning of each."""
    import timm

    found: dict[str, list[torch.Tensor]] = {name: [] for name in kinds}
    network = timm.create_model(model).train()
    for module in network.modules():
        for name, kind in kinds.items():
            if isinstance(module, kind):
                # Operators in place overwrite it soon, so a copy.
                module.register_forward_hook(
                    lambda _, __, out, name=name: found[name].append(out.ravel()[:SAMPLE].clone())
                )
    network(_photographs())
    return {name: torch.cat(outputs) for name, outputs in found.items()}


@pytest.fixture(scope="session")
def activations() -> dict[str, np.ndarray]:
    """Operator -> its outputs, float32, of a ResNet-50 and a small ViT on real photographs."""
    torch.manual_seed(0)
    outputs = {"input": _photographs()}
    with torch.no_grad():
        outputs |= _outputs(
            "resnet50",
            {"conv": nn.Conv2d, "norm": nn.BatchNorm2d, "relu": nn.ReLU, "pool": nn.MaxPool2d},
        )
        outputs |= _outputs("vit_tiny_patch16_224", {"linear": nn.Linear, "gelu": nn.GELU})
        tokens = outputs["linear"][: 2 * 197 * 64].view(2, 197, 64)
        scores = tokens @ tokens.transpose(1, 2)
        causal = torch.triu(torch.full(scores.shape[1:], -torch.inf), 1)
        outputs["softmax"] = torch.softmax(scores + causal, -1)
    return {name: output.contiguous().numpy() for name, output in outputs.items()}


@pytest.fixture(scope="session")
def real_blocks(activations) -> dict[int, np.ndarray]:
    """Symbol width -> 2,000 blocks of FP32 (32) and of BF16 (16) activations, (2000, 128) uint8."""
    rng = np.random.default_rng(0)
    blocks: dict[int, list[np.ndarray]] = {16: [], 32: []}
    for output in activations.values():
        half = torch.from_numpy(output).bfloat16().view(torch.uint8).numpy()
        for width, data in ((16, half), (32, output.view(np.uint8))):
            whole = data.reshape(-1)[: data.size // BLOCK_BYTES * BLOCK_BYTES]
            rows = whole.reshape(-1, BLOCK_BYTES)
            blocks[width].append(rows[rng.choice(len(rows), 250, replace=False)])
    return {width: np.concatenate(rows) for width, rows in blocks.items()}


def _synthetic(width: int) -> Iterator[np.ndarray]:
    """Families of blocks, each aimed at one rule of the format; symbols as unsigned integers."""
    rng = np.random.default_rng(1)
    count, top = 1024 // width, (1 << width) - 1
    index = np.arange(count)
    special = [0, 1, top, top >> 1, 1 << width - 1, 0x7F80, 0x7F81, 0x7FC0, 0x8000, 0x0001, 0x3F80]
    for i in range(100):
        noise = rng.integers(0, top, count, endpoint=True)
        shift = i % width
        yield np.full(count, special[i % len(special)] + i // len(special))  # constant
        yield np.where(index == i % count, 1 << shift, 0)  # a single one
        yield np.where((index == i % count) | (index == i % count + 1), 1 << shift, 0)  # a pair
        yield np.where(index == i % count, 0, top >> shift)  # a single zero symbol
        yield np.where(rng.permutation(count) < i % (count + 1), noise, 0)  # i survivors
        yield np.where(index < i % (count + 1), noise, 0)  # survivors in front
        yield index * i  # ramp
        yield top - index * i  # falling
        yield np.where(index % 2, i, top - i)  # deltas that need w + 1 bits
        yield noise >> shift  # empty upper planes
        yield noise & (top << shift)  # empty lower planes
        yield np.where(rng.random(count) < 0.5, special[i % len(special)], 0)  # equal survivors
        yield rng.choice(special, count)  # NaNs, infinities, -0, subnormals
        yield np.repeat(noise[: count // 8], 8)  # few deltas
        yield np.tile(noise[:2], count // 2)  # repeated 8-byte value
        delta_bits = 8 * (1, 2, 4)[i % 3]  # 8-byte elements near a base
        near = (0x0123456789ABCDEF << i % 6) + rng.integers(
            -1 << delta_bits - 1, 1 << delta_bits - 1, 16
        )
        yield near.astype(np.uint64).view(f"<u{width // 8}")
        yield np.where(rng.random(count) < 0.9, noise & 0x7F, noise[0])  # two bases
        yield noise  # incompressible


@pytest.fixture(scope="session")
def synthetic_blocks() -> dict[int, np.ndarray]:
    """Symbol width -> 1,800 corner cases, (1800, 128) uint8."""
    blocks = {
        width: np.stack([symbols.astype(np.uint64) for symbols in _synthetic(width)])
        .astype(f"<u{width // 8}")
        .view(np.uint8)
        for width in (16, 32)
    }
    assert all(rows.shape == (1800, BLOCK_BYTES) for rows in blocks.values())
    return blocks

"""FLOPs of convolutions and products, against counting every multiply-add."""

from typing import Any

import pytest
import torch
from torch import nn

from planezip.tracing import Recorder


def flops_by_phase(layer: nn.Module, x: torch.Tensor) -> tuple[int, int]:
    recorder = Recorder()
    with recorder:
        out = layer(x)
        recorder.phase = "backward"
        out.sum().backward()
    return tuple(
        sum(op.flops for op in recorder.ops if op.phase == p) for p in ("forward", "backward")
    )


def multiply_adds(layer: nn.Module, x: torch.Tensor) -> int:
    """Pairs of input and weight elements that meet: outputs of an all-ones layer, summed."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(1.0)
        return int(layer(torch.ones_like(x)).sum())


CONVOLUTIONS = [
    nn.Conv2d(8, 12, 1, bias=False),
    nn.Conv2d(8, 12, 3, stride=2, bias=False),
    nn.Conv2d(8, 12, 3, groups=4, bias=False),
    nn.Conv2d(8, 8, 3, groups=8, bias=False),
    nn.Conv2d(8, 8, 3, dilation=2, bias=False),
    nn.ConvTranspose2d(8, 12, 3, stride=2, bias=False),
    nn.ConvTranspose2d(8, 12, 3, groups=4, bias=False),
]


@pytest.mark.parametrize("layer", CONVOLUTIONS, ids=str)
def test_convolution_counts_every_pair_once_forward_and_twice_backward(layer: nn.Module) -> None:
    x = torch.randn(2, 8, 9, 9, requires_grad=True)
    pairs = multiply_adds(layer, x)
    assert flops_by_phase(layer, x) == (2 * pairs, 4 * pairs)


def test_no_input_gradient_halves_the_backward_pass() -> None:
    layer = nn.Conv2d(8, 12, 3, bias=False)
    forward, backward = flops_by_phase(layer, torch.randn(2, 8, 9, 9))
    assert forward == backward > 0


def test_frozen_weights_halve_the_backward_pass() -> None:
    layer = nn.Conv2d(8, 12, 3, bias=False).requires_grad_(False)
    forward, backward = flops_by_phase(layer, torch.randn(2, 8, 9, 9, requires_grad=True))
    assert forward == backward > 0


M, N, K = 3, 5, 7


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        (lambda: torch.zeros(M, K) @ torch.zeros(K, N), 2 * M * N * K),
        (lambda: torch.addmm(torch.zeros(N), torch.zeros(M, K), torch.zeros(K, N)), 2 * M * N * K),
        (lambda: torch.zeros(M, N).addmm_(torch.zeros(M, K), torch.zeros(K, N)), 2 * M * N * K),
        (lambda: torch.zeros(4, M, K) @ torch.zeros(4, K, N), 8 * M * N * K),
        (lambda: torch.zeros(M, K) @ torch.zeros(K), 2 * M * K),
        (lambda: torch.addmv(torch.zeros(M), torch.zeros(M, K), torch.zeros(K)), 2 * M * K),
        (lambda: torch.zeros(K) @ torch.zeros(K), 2 * K),
        (lambda: torch.zeros(M, K) + 1, 0),
    ],
)
def test_products(product: Any, expected: int) -> None:
    recorder = Recorder()
    with recorder:
        product()
    assert sum(op.flops for op in recorder.ops) == expected

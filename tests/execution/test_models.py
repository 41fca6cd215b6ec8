"""Training within a session leaves the same bits as plain training, model by model."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from execution.training import WAYS, Loss, check

pytestmark = pytest.mark.parametrize("actions", WAYS.values(), ids=WAYS.keys())


def _classifies(model: nn.Module, *shape: int) -> tuple[nn.Module, Loss]:
    x, y = torch.randn(3, 4, *shape), torch.randint(0, 5, (3, 4))
    return model, lambda step: F.cross_entropy(model(x[step]), y[step])


def test_a_small_resnet_trains_to_the_same_bits(actions: tuple[str, ...]) -> None:
    from torchvision.models.resnet import BasicBlock, ResNet

    check(lambda: _classifies(ResNet(BasicBlock, [1, 1, 1, 1], num_classes=5), 3, 32, 32), actions)


def test_a_small_densenet_trains_to_the_same_bits(actions: tuple[str, ...]) -> None:
    from torchvision.models import DenseNet

    check(
        lambda: _classifies(DenseNet(8, (2, 2), 16, drop_rate=0.2, num_classes=5), 3, 32, 32),
        actions,
    )


def _timm(name: str, **kwargs: object) -> Callable[[], tuple[nn.Module, Loss]]:
    import timm

    return lambda: _classifies(timm.create_model(name, num_classes=5, **kwargs), 3, 32, 32)


def test_a_small_efficientnet_trains_to_the_same_bits(actions: tuple[str, ...]) -> None:
    check(_timm("efficientnet_lite0", drop_rate=0.2, drop_path_rate=0.2), actions)


def test_a_small_vision_transformer_trains_to_the_same_bits(actions: tuple[str, ...]) -> None:
    vit = _timm("vit_tiny_patch16_224", img_size=32, patch_size=8, depth=2, proj_drop_rate=0.1)
    check(vit, actions)


def test_a_small_gpt2_trains_to_the_same_bits(actions: tuple[str, ...]) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    def make() -> tuple[nn.Module, Loss]:
        config = GPT2Config(
            vocab_size=50, n_positions=16, n_embd=24, n_layer=2, n_head=2,
            attn_implementation="eager",
        )  # fmt: skip
        model, ids = GPT2LMHeadModel(config), torch.randint(0, 50, (3, 2, 16))
        return model, lambda s: model(input_ids=ids[s], labels=ids[s], use_cache=False).loss

    check(make, actions)


class _UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.middle = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.up, self.head = nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(16, 2, 1)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip = F.relu(self.norm(self.down(x)), inplace=True)
        deep = F.silu(self.middle(F.max_pool2d(skip, 2)))
        return self.head(torch.cat([skip, self.up(deep)], 1))


def test_a_unet_trains_to_the_same_bits(actions: tuple[str, ...]) -> None:
    def make() -> tuple[nn.Module, Loss]:
        model, x = _UNet(), torch.randn(3, 2, 3, 16, 16)
        return model, lambda step: model(x[step]).square().mean()

    check(make, actions)


def test_an_lstm_trains_to_the_same_bits(actions: tuple[str, ...]) -> None:
    def make() -> tuple[nn.Module, Loss]:
        model, x = nn.LSTM(8, 12, 2, dropout=0.3), torch.randn(3, 5, 4, 8)
        return model, lambda step: model(x[step])[0].square().mean()

    check(make, actions)


class _Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 3)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = self.gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero().squeeze(-1)
            out = out.index_add(0, rows, expert(x[rows]) * weights[rows, None])
        return out


def test_a_mixture_of_experts_trains_to_the_same_bits(actions: tuple[str, ...]) -> None:
    def make() -> tuple[nn.Module, Loss]:
        model, x = _Experts(), torch.randn(3, 32, 8)
        return model, lambda step: model(x[step]).square().mean()

    check(make, actions)


class _Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x, x * x)
        return x * x * x

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        x, square = ctx.saved_tensors
        again, _ = ctx.saved_tensors
        return gradient * (square + 2 * x * again)


def test_a_custom_function_that_reads_what_it_saved_twice_trains_to_the_same_bits(
    actions: tuple[str, ...],
) -> None:
    def make() -> tuple[nn.Module, Loss]:
        model, x = nn.Linear(8, 8), torch.randn(3, 6, 8)
        return model, lambda step: _Cube.apply(model(x[step]).sin()).mean()

    check(make, actions)


def test_autocast_trains_to_the_same_bits(actions: tuple[str, ...]) -> None:
    def make() -> tuple[nn.Module, Loss]:
        model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(), nn.Linear(16, 4))
        x = torch.randn(3, 6, 8)

        def loss(step: int) -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                out = model(x[step])
            return out.float().square().mean()

        return model, loss

    check(make, actions)

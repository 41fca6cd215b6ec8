"""Small networks that save activations in every way that matters."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

Step = tuple[nn.Module, tuple[torch.Tensor, ...]]


class Residual(nn.Module):
    """In-place operators on a batch norm's output and on a sum, as in ResNets."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.head = nn.Linear(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.a(x))
        y += x
        y = F.max_pool2d(y.relu_(), 2)
        return self.head(y.mean((2, 3)))


class Dropouts(nn.Module):
    """Random operators that save masks."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(F.dropout(F.dropout(F.gelu(self.a(x)), 0.3), 0.5))


class Views(nn.Module):
    """Saved tensors that are parts, transposes and broadcasts of storages."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(6, 18)
        self.register_buffer("mask", torch.ones(5, 5).tril().bool())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).split(6, dim=-1)
        scores = (q @ k.transpose(-2, -1)).masked_fill(~self.mask, float("-inf"))
        scale = q.sum(-1, keepdim=True).expand_as(q)
        return (scores.softmax(-1) @ v * scale).flatten(1)


class SavedOutputs(nn.Module):
    """Operators whose gradients need their results, chained and in place."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.a(x).sigmoid().tanh().exp()
        return F.layer_norm(y.softmax(-1).sqrt().mul(2.0).sigmoid_(), (6,))


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * 2 * x + 0 * y


class Custom(nn.Module):
    """A user's own autograd function, and an embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Embedding(10, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Square.apply(self.a(x.long().clamp(0, 9).flatten(1)).mean(1)) * 3.0


class Tied(nn.Module):
    """One parameter used twice, once transposed, and a frozen one."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)
        self.b.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(F.linear(self.a(x).relu(), self.a.weight.t()))


SHAPES: dict[type[nn.Module], tuple[int, ...]] = {
    Residual: (2, 3, 8, 8),
    Dropouts: (5, 6),
    Views: (2, 5, 6),
    SavedOutputs: (5, 6),
    Custom: (2, 3, 4),
    Tied: (5, 6),
}


def make(net: type[nn.Module], device: str = "cpu") -> Step:
    """The network and a batch of inputs and targets."""
    torch.manual_seed(0)
    with torch.device(device):
        model = net()
        x = torch.randn(SHAPES[net])
        return model, (x, torch.zeros(SHAPES[net][0], dtype=torch.int64))


def loss_of(model: nn.Module) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    return lambda x, y: F.cross_entropy(model(x), y)

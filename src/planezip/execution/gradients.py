"""Where the gradients of a model's parameters lie: they are outside the budget."""

from collections.abc import Iterator

import torch


def gradients_of(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    """The tensors with memory that hold gradients: of a sparse one its parts, of a sharded one what
    this process has."""
    for parameter in model.parameters():
        gradient = parameter.grad
        if gradient is None:
            continue
        if gradient.is_sparse:
            yield from (gradient._indices(), gradient._values())
        elif gradient.layout is torch.strided:
            yield getattr(gradient, "_local_tensor", gradient)

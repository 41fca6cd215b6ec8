"""One process of a training in two; prints "same" if all bits are those of plain training."""

import os
import sys
import warnings

import torch
import torch.distributed as dist
from torch import nn

from execution.training import Forced, same_bits


def _model(kind: str) -> nn.Module:
    torch.manual_seed(0)
    norm = nn.BatchNorm1d(64) if kind == "ddp" else nn.LayerNorm(64)
    model = nn.Sequential(
        nn.Linear(32, 64), norm, nn.ReLU(), nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.1),
        nn.Linear(64, 8),
    )  # fmt: skip
    if kind == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    from torch.distributed.fsdp import fully_shard

    for module in (model[0], model[3], model):
        fully_shard(module)
    return model


def _local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _train(kind: str, actions: tuple[str, ...]) -> list[torch.Tensor]:
    torch.manual_seed(5 + dist.get_rank())
    x = torch.randn(8, 16, 32)
    model = _model(kind)
    torch.manual_seed(dist.get_rank())
    session = Forced(model, *actions) if actions else None
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for batch in x:
        if session is None:
            loss = model(batch).square().mean()
        else:
            with session:
                loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach().clone())
    if session is not None:
        actions = session.report().actions
        assert actions["drop"][0] > 0
        assert actions["swap"][0] > 0
        assert session.report().passes["planned"] >= 4
        session.close()
    return [*losses, *(_local(p).detach().clone() for p in model.parameters())]


def main(kind: str) -> None:
    """Train plainly and within a session."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    try:
        same = same_bits(_train(kind, ()), _train(kind, ("drop", "swap", "drop")))
        os.write(1, b"same\n" if same else b"different\n")  # at once: two processes share stdout
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])

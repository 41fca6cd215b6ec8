"""The contents: activations of the paper's five models by operator kind, and random numbers.

The activations are what operators of a kind return in one forward pass in training mode, with
random weights: of every model that has the kind an equal part, made of the front of every output in
equal shares.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from planezip.records.measurements import PAPER_MODELS
from planezip.tracing.dropout import FusedDropout
from planezip.workloads import Workload, workload

BYTES = 24 << 20  # of each input, in either precision
_CHUNK_VALUES = 2048
_KINDS = {
    "conv": "convolution",
    "norm": "native_batch_norm native_layer_norm",
    "relu": "relu_",
    "elementwise": "add silu silu_ gelu mul tanh",
    "linear": "addmm mm bmm",
    "softmax": "_softmax",
    "dropout": "native_dropout",
    "concat": "cat",
}
_KIND = {operator: kind for kind, operators in _KINDS.items() for operator in operators.split()}


def save_inputs(images: Path | None, text: Path | None, folder: Path) -> None:
    """Write every input that is not there yet as INPUT-bf16.npy (uint16) and INPUT-fp32.npy."""
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "done"
    if done.exists():
        return
    for name, values in _inputs({"images": images, "text": text}):
        half = values[: BYTES // 2].bfloat16().view(torch.uint16)
        np.save(folder / f"{name}-bf16.npy", half.numpy())
        np.save(folder / f"{name}-fp32.npy", values[: BYTES // 4].numpy())
    done.touch()


def _inputs(sources: dict[str, Path | None]) -> Iterator[tuple[str, torch.Tensor]]:
    """Name -> FP32 values. BF16 inputs take BYTES / 2 of them."""
    random = torch.Generator().manual_seed(0)
    gaussian = torch.randn(BYTES // 2, generator=random)
    yield "gaussian", gaussian
    yield "gaussian-relu", gaussian.relu()
    models = {name: workload(name) for name in PAPER_MODELS}
    totals = {name: _values(chosen) for name, chosen in models.items()}
    parts: dict[str, list[torch.Tensor]] = {kind: [] for kind in _KINDS}
    for name, chosen in models.items():
        shares = {kind: share[name] for kind in _KINDS if name in (share := _shares(kind, totals))}
        for kind, fronts in _fronts(chosen, sources[chosen.source], shares).items():
            parts[kind] += fronts
    for kind, fronts in parts.items():
        yield kind, _mixed(fronts, random)


def _shares(kind: str, totals: dict[str, dict[str, int]]) -> dict[str, float]:
    """Model -> share of its outputs of this kind that the input takes, alike in values.

    A model that has less than a fifth of what the input takes in all is left out.
    """
    least = BYTES // 2 // len(totals)
    found = {name: total[kind] for name, total in totals.items() if total.get(kind, 0) >= least}
    return {name: BYTES // 2 / len(found) / total for name, total in found.items()}


class _Outputs(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Hands the first output of every operator of a known kind to `see`."""

    def __init__(self, see: Callable[[str, torch.Tensor], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._see = see

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        kind = _KIND.get(func.overloadpacket.__name__)
        if kind:
            first = out[0] if isinstance(out, tuple) else out
            if first.is_floating_point():
                self._see(kind, first)
        return out


def _values(chosen: Workload) -> dict[str, int]:
    """Operator kind -> values that one forward pass returns, from shapes alone."""
    counts: dict[str, int] = {}

    def count(kind: str, output: torch.Tensor) -> None:
        counts[kind] = counts.get(kind, 0) + output.numel()

    without_data = chosen.without_data(chosen.capture_batch)
    with without_data as (model, items), torch.no_grad(), _Outputs(count), FusedDropout():
        chosen.loss(model, items)
    return counts


def _fronts(
    chosen: Workload, source: Path | None, shares: dict[str, float]
) -> dict[str, list[torch.Tensor]]:
    """Operator kind -> fronts of its outputs in one pass over a batch."""
    kept: dict[str, list[torch.Tensor]] = {kind: [] for kind in shares}

    def keep(kind: str, output: torch.Tensor) -> None:
        if kind in kept:
            chunks = -(-int(output.numel() * shares[kind]) // _CHUNK_VALUES)
            # A copy, since the next operator may work in place.
            kept[kind].append(output.flatten()[: chunks * _CHUNK_VALUES].clone())

    model, batch = _ordinary(chosen.model(0)), chosen.data(source, 0).batch(0, chosen.capture_batch)
    torch.manual_seed(0)
    with torch.no_grad(), _Outputs(keep), FusedDropout():
        chosen.loss(model, batch)
    return kept


def _ordinary(model: torch.nn.Module) -> torch.nn.Module:
    """The model with ones for scales that are zero, as timm starts some: they give zeros alone."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d) and not module.weight.any():
            torch.nn.init.ones_(module.weight)
    return model


def _mixed(fronts: list[torch.Tensor], random: torch.Generator) -> torch.Tensor:
    """All fronts, in an order in which every half holds outputs of all models and layers."""
    order = torch.randperm(len(fronts), generator=random).tolist()
    return torch.cat([fronts[i] for i in order])

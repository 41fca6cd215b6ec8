"""How far a training has come, as bytes that are either whole and fitting or refused."""

import io
import math
from dataclasses import dataclass
from typing import Any, Self

import torch
import xxhash

_CHECKSUM_BYTES = 16


@dataclass(frozen=True)
class Progress:
    """Training after a number of steps.

    Attributes:
        losses: of every step so far.
        model, optimizer: their state dictionaries.
    """

    losses: tuple[float, ...]
    model: dict[str, Any]
    optimizer: dict[str, Any]

    def to_bytes(self) -> bytes:
        """The 16-byte XXH3-128 checksum of what torch.save writes, then that."""
        data = io.BytesIO()
        parts = {"model": self.model, "optimizer": self.optimizer}
        torch.save({"losses": list(self.losses), **parts}, data)
        return xxhash.xxh3_128_digest(data.getvalue()) + data.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self | None:
        """What `to_bytes` wrote; None unless every bit of it is there."""
        checksum, payload = data[:_CHECKSUM_BYTES], data[_CHECKSUM_BYTES:]
        # Checked first: torch does not notice every flipped bit.
        if xxhash.xxh3_128_digest(payload) != checksum:
            return None
        try:
            held = torch.load(io.BytesIO(payload), weights_only=True)
            return cls(tuple(held["losses"]), held["model"], held["optimizer"])
        except Exception:  # a forged file may fail in any way that pickles can
            return None

    def restore(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> bool:
        """Put both where they were; False, and both untouched, if this is not progress of them."""
        if not (_are_losses(self.losses) and _is_state_of(model, self.model)):
            return False
        try:
            if not _is_optimizer_state_of(optimizer, self.optimizer):
                return False
            # First, since it is the one of the two that could still refuse.
            optimizer.load_state_dict(self.optimizer)
        except Exception:
            return False
        model.load_state_dict(self.model)
        return True


def _are_losses(losses: tuple[Any, ...]) -> bool:
    return all(isinstance(loss, float) and math.isfinite(loss) for loss in losses)


def _is_state_of(model: torch.nn.Module, held: Any) -> bool:
    expected = model.state_dict()
    return (
        isinstance(held, dict)
        and held.keys() == expected.keys()
        and all(_is_like(held[name], value) for name, value in expected.items())
    )


def _is_like(held: Any, expected: Any) -> bool:
    if not isinstance(expected, torch.Tensor):
        return type(held) is type(expected)
    return (
        isinstance(held, torch.Tensor)
        and (held.shape, held.dtype, held.layout)
        == (expected.shape, expected.dtype, expected.layout)
        and held.device == expected.device
    )


def _is_optimizer_state_of(optimizer: torch.optim.Optimizer, held: Any) -> bool:
    """Whether the settings are the optimizer's own and its tensors fit the parameters."""
    if not isinstance(held, dict) or held.keys() != {"state", "param_groups"}:
        return False
    groups = optimizer.state_dict()["param_groups"]
    if held["param_groups"] != groups or not isinstance(held["state"], dict):
        return False
    indices = (i for group in groups for i in group["params"])
    parameters = (p for group in optimizer.param_groups for p in group["params"])
    by_index = dict(zip(indices, parameters, strict=True))
    return all(
        index in by_index and isinstance(values, dict) and _fit(values, by_index[index])
        for index, values in held["state"].items()
    )


def _fit(values: dict[Any, Any], parameter: torch.Tensor) -> bool:
    tensors = (v for v in values.values() if isinstance(v, torch.Tensor))
    return all(t.shape in (parameter.shape, torch.Size()) for t in tensors)

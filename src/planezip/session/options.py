"""What a session's arguments may be."""

from typing import Any

import torch

from planezip.errors import InputError
from planezip.units import parse_bytes

Size = int | str


def check(model: Any, budget: Any, budget_ratio: Any, workers: Any) -> None:
    """InputError names the argument that cannot be used."""
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"model is of type {type(model).__name__}; give a torch.nn.Module")
    if (budget is None) == (budget_ratio is None):
        raise InputError("give either budget, such as '2GiB', or budget_ratio, such as 0.5")
    if budget_ratio is not None and not (_is_number(budget_ratio) and 0 < budget_ratio <= 1):
        raise InputError(f"budget_ratio is {budget_ratio!r}; give a number above 0 and up to 1")
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers is {workers!r}; give 1 or more")


def size_bytes(size: Size) -> int:
    """A size as bytes; InputError if it is none."""
    if isinstance(size, str) and size.endswith("%"):
        raise InputError(f"{size!r} is a share; give it as budget_ratio, such as 0.5 for 50%")
    if isinstance(size, str):
        return parse_bytes(size)
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise InputError(f"{size!r} is not a size; write for example '2GiB' or 4096")
    return size


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

"""The forward passes that a thread is in, and what may be said about them from inside."""

from collections.abc import Callable
from threading import local
from typing import Any

import torch

from planezip.errors import InputError
from planezip.execution.forward import Forward

_entered = local()


def passes() -> list[Any]:
    """Those of this thread, the innermost last.

    Each is a tuple that begins with a Forward, or None where a session is switched off.
    """
    if not hasattr(_entered, "passes"):
        _entered.passes = []
    found: list[Any] = _entered.passes
    return found


def keep(tensor: torch.Tensor) -> torch.Tensor:
    """Let no session evict the tensor's storage in the forward pass that is under way."""
    for entered in passes():
        if entered is not None:
            forward: Forward = entered[0]
            forward.keep(tensor)
    return tensor


def leave_alone(module: torch.nn.Module) -> list[Any]:
    """Hooks that let pass what a module saves."""
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"leave_alone holds a {type(module).__name__}; give modules of the model")

    def change(by: int) -> None:
        for entered in passes():
            if entered is not None:
                entered[0].left_alone += by

    return [
        module.register_forward_pre_hook(Hook(lambda *_: change(1))),
        module.register_forward_hook(Hook(lambda *_: change(-1)), always_call=True),
    ]


class Hook:
    """A hook of a module; copies of the module, and pickled ones, have none that does anything."""

    def __init__(self, call: Callable[..., None] | None = None) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> None:
        if self._call is not None:
            self._call(*arguments)

    def __reduce__(self) -> tuple[type["Hook"], tuple[()]]:
        return Hook, ()

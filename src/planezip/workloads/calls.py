"""Calls of a user's functions, which are told what they have parameters for and nothing else."""

import inspect
from collections.abc import Callable
from typing import Any

import torch

from planezip.errors import InputError

_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters that have names of their own; none if a function in C does not say."""
    called = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        found = inspect.signature(called).parameters
    except (TypeError, ValueError):
        return {}
    return {name: p for name, p in found.items() if p.kind not in _REST}


def check_needs(function: Callable[..., Any], what: str, given: str) -> None:
    """InputError if `what` has parameters without a default other than `given`."""
    needed = [
        name for name, p in parameters(function).items() if p.default is p.empty and name != given
    ]
    if needed:
        defaults = "it a default" if len(needed) == 1 else "them defaults"
        raise InputError(
            f"{what} needs {' and '.join(needed)}, but is told {given} at most; give {defaults}"
        )


def call(function: Callable[..., Any], **given: Any) -> Any:
    """Call with arguments that it has parameters for, positional-only ones included."""
    positional = []
    for name, parameter in parameters(function).items():
        if not given or parameter.kind is not parameter.POSITIONAL_ONLY:
            break
        positional.append(given.pop(name, parameter.default))
    return function(*positional, **given)

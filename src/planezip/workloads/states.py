"""Whether state dictionaries are what a model and its optimizer could have had, entry by entry."""

from typing import Any

import torch


def is_state_of(model: torch.nn.Module, held: Any) -> bool:
    """Whether `held` has every tensor of the model's state and nothing else.

    What was finite before the training must be: a loss that is finite comes of nothing else.
    """
    expected = model.state_dict()
    return (
        isinstance(held, dict)
        and held.keys() == expected.keys()
        and all(_is_like(held[name], value) for name, value in expected.items())
    )


def is_optimizer_state_of(optimizer: torch.optim.Optimizer, held: Any, steps: int) -> bool:
    """Whether `held` has the optimizer's settings and what it keeps of parameters after `steps`.

    Every parameter that is trained has the entries that the optimizer gives one in a step.
    """
    if not isinstance(held, dict) or held.keys() != {"state", "param_groups"}:
        return False
    groups = optimizer.state_dict()["param_groups"]
    if held["param_groups"] != groups or not isinstance(held["state"], dict):
        return False
    trained = {
        index: (parameter, state)
        for group, mine in zip(groups, optimizer.param_groups, strict=True)
        for index, parameter in zip(group["params"], mine["params"], strict=True)
        if parameter.requires_grad and (state := _first_state(optimizer, mine, parameter))
    }
    return held["state"].keys() == trained.keys() and all(
        _are_entries(held["state"][index], *expected, steps) for index, expected in trained.items()
    )


def _first_state(
    optimizer: torch.optim.Optimizer, group: dict[str, Any], parameter: torch.Tensor
) -> dict[str, Any]:
    """What an optimizer of this kind keeps after a step of a parameter with a single element."""
    single = parameter.detach().new_zeros((1,) * parameter.dim()).requires_grad_()
    single.grad = torch.zeros_like(single)
    settings = {name: value for name, value in group.items() if name != "params"}
    kind: Any = type(optimizer)
    scratch = kind([{"params": [single], **settings}])
    scratch.step()
    state: dict[str, Any] = scratch.state[single]
    return state


def _are_entries(held: Any, parameter: torch.Tensor, expected: dict[str, Any], steps: int) -> bool:
    """Whether these are the entries expected; those with an element each are as large as it."""
    if not isinstance(held, dict) or held.keys() != expected.keys():
        return False
    if "step" in held and held["step"] != steps:
        return False
    single = (1,) * parameter.dim()
    return all(
        _is_like(held[name], value.expand(parameter.shape))
        if isinstance(value, torch.Tensor) and value.shape == single
        else _is_like(held[name], value)
        for name, value in expected.items()
    )


def _is_like(held: Any, expected: Any) -> bool:
    if not isinstance(expected, torch.Tensor):
        return type(held) is type(expected)
    return (
        isinstance(held, torch.Tensor)
        and (held.shape, held.dtype, held.layout, held.device, held.requires_grad)
        == (expected.shape, expected.dtype, expected.layout, expected.device, False)
        and (_is_finite(held) or not _is_finite(expected))
    )


def _is_finite(tensor: torch.Tensor) -> bool:
    return not tensor.is_floating_point() or bool(tensor.isfinite().all())

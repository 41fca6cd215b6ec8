"""The workloads by name."""

from collections.abc import Callable

from planezip.errors import InputError
from planezip.workloads.language import TOKENS, gpt2, gpt2_fused, llama
from planezip.workloads.vision import (
    densenet121,
    efficientnet_b0,
    resnet50,
    vit_base_patch16_224,
)
from planezip.workloads.workload import Workload

WORKLOADS: dict[str, Callable[..., Workload]] = {
    maker.__name__: maker
    for maker in (
        resnet50,
        densenet121,
        efficientnet_b0,
        vit_base_patch16_224,
        gpt2,
        gpt2_fused,
        llama,
    )
}


def workload(name: str, tokens: int | None = None) -> Workload:
    """The workload called `name`; InputError lists those that exist.

    Args:
        tokens: length of a sequence if the workload trains on text; None for its own.
    """
    if name not in WORKLOADS:
        known = ", ".join(sorted(WORKLOADS))
        raise InputError(f"unknown model {name!r}; choose one of: {known}")
    chosen = WORKLOADS[name]()
    if tokens is None:
        return chosen
    if chosen.source != "text":
        raise InputError(f"{name} does not train on sequences; leave out --tokens")
    if not 2 <= tokens <= TOKENS:
        raise InputError(f"{name} takes sequences of 2 to {TOKENS} tokens, not {tokens}")
    return WORKLOADS[name](tokens)

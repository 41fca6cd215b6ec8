"""The workloads by name."""

from collections.abc import Callable

from planezip.errors import InputError
from planezip.workloads.language import gpt2, gpt2_fused, llama
from planezip.workloads.vision import (
    densenet121,
    efficientnet_b0,
    resnet50,
    vit_base_patch16_224,
)
from planezip.workloads.workload import Workload

WORKLOADS: dict[str, Callable[[], Workload]] = {
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


def workload(name: str) -> Workload:
    """The workload called `name`; InputError lists those that exist."""
    try:
        return WORKLOADS[name]()
    except KeyError:
        known = ", ".join(sorted(WORKLOADS))
        raise InputError(f"unknown model {name!r}; choose one of: {known}") from None

"""The workloads by name."""

from collections.abc import Callable

from planezip.errors import InputError
from planezip.workloads.vision import resnet50
from planezip.workloads.workload import Workload

WORKLOADS: dict[str, Callable[[], Workload]] = {"resnet50": resnet50}


def workload(name: str) -> Workload:
    """The workload called `name`; InputError lists those that exist."""
    try:
        return WORKLOADS[name]()
    except KeyError:
        known = ", ".join(sorted(WORKLOADS))
        raise InputError(f"unknown model {name!r}; choose one of: {known}") from None

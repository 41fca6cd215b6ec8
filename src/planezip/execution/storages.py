"""Which storage is which while tensors come, alias one another, and go."""

import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch


@dataclass(slots=True, eq=False)
class StorageState:
    """A storage that is alive.

    Attributes:
        number: by the order in which the forward pass met them.
        value: index of the value that it holds now.
        external: it existed before the forward pass.
        fixed: its memory was replaced or resized in place, so that nobody but torch may touch it.
    """

    number: int
    value: int
    external: bool
    fixed: bool = False
    reference: Any = None


class StorageTable:
    """Storages by the address of torch's own object for them, for as long as that lives."""

    def __init__(self) -> None:
        self._alive: dict[int, StorageState] = {}
        self._count = 0

    def find(self, tensor: torch.Tensor) -> StorageState | None:
        """The state of a tensor's storage, None if it was never entered."""
        return self._alive.get(tensor.untyped_storage()._cdata)

    def enter(self, tensor: torch.Tensor, value: int, external: bool) -> StorageState:
        """Enter a new storage, which holds `value`."""
        storage = tensor.untyped_storage()
        state = StorageState(self._count, value, external)
        # The address may be given to another storage afterwards, but not before this is called.
        state.reference = weakref.ref(storage, partial(_forget, self._alive, storage._cdata))
        self._alive[storage._cdata] = state
        self._count += 1
        return state

    @property
    def count(self) -> int:
        """Storages entered so far."""
        return self._count


def _forget(alive: dict[int, StorageState], address: int, _: Any) -> None:
    alive.pop(address, None)

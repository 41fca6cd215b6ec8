"""Which storage is which while tensors come, alias one another, and go."""

import weakref
from collections.abc import Callable
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
    """Storages by the address of torch's own object for them, for as long as that lives.

    Args:
        on_death: called with the number of a storage whose memory is gone.
    """

    def __init__(self, on_death: Callable[[int], None] | None = None) -> None:
        self._alive: dict[int, StorageState] = {}
        self._count = 0
        self._on_death = on_death

    def find(self, tensor: torch.Tensor) -> StorageState | None:
        """The state of a tensor's storage, None if it was never entered."""
        return self._alive.get(tensor.untyped_storage()._cdata)

    def enter(self, tensor: torch.Tensor, value: int, external: bool) -> StorageState:
        """Enter a new storage, which holds `value`."""
        storage = tensor.untyped_storage()
        state = StorageState(self._count, value, external)
        self._count += 1
        return self._follow(storage, state)

    def enter_again(self, memory: torch.UntypedStorage, number: int, value: int) -> None:
        """Memory that holds from now on what the storage `number` held."""
        if memory._cdata not in self._alive:
            self._follow(memory, StorageState(number, value, external=False))

    def _follow(self, storage: torch.UntypedStorage, state: StorageState) -> StorageState:
        # The address may be given to another storage afterwards, but not before this is called.
        forget = partial(_forget, weakref.ref(self), storage._cdata)
        state.reference = weakref.ref(storage, forget)
        self._alive[storage._cdata] = state
        return state

    def forget(self, address: int) -> None:
        """The storage at `address` is gone."""
        state = self._alive.pop(address, None)
        if self._on_death is not None and state is not None:
            self._on_death(state.number)

    def alive(self) -> set[int]:
        """Numbers of the storages that have memory."""
        return {state.number for state in self._alive.values()}

    @property
    def count(self) -> int:
        """Storages entered so far."""
        return self._count


def _forget(table: "weakref.ref[StorageTable]", address: int, _: Any) -> None:
    living = table()
    if living is not None:
        living.forget(address)

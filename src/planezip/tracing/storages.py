"""Which storage is which, while tensors come, alias one another, and go (paper IV).

A storage is identified by the address of its StorageImpl, torch's own object for a block of
memory, not by the address of the data: data addresses are reused within an iteration and are all
zero on the meta device. The StorageImpl's address could be reused as well once the last tensor is
gone, so the table holds a weak reference to each: that frees the data as usual but keeps the small
object, and with it the address, until the table goes.
"""

from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from planezip.errors import InputError
from planezip.records import Kind, Storage


@dataclass
class _Entry:
    kind: Kind
    dtype: str
    bytes: int
    producer: int
    slot: int


class StorageTable:
    """Numbers storages from 0 in the order in which they are first seen."""

    def __init__(self) -> None:
        self._ids: dict[int, int] = {}
        self._entries: list[_Entry] = []
        self._references: list[StorageWeakRef] = []

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, tensor: torch.Tensor) -> int | None:
        """Id of the tensor's storage, None if it was never added."""
        return self._ids.get(_storage(tensor)._cdata)

    def add(self, tensor: torch.Tensor, kind: Kind, producer: int = -1, slot: int = 0) -> int:
        """Id of the tensor's storage, which is entered if it is new."""
        storage = _storage(tensor)
        known = self._ids.get(storage._cdata)
        if known is not None:
            return known
        self._ids[storage._cdata] = len(self._entries)
        self._references.append(StorageWeakRef(storage))  # type: ignore[no-untyped-call]
        self._entries.append(_Entry(kind, dtype_name(tensor), storage.nbytes(), producer, slot))
        return len(self._entries) - 1

    def add_input(self, tensor: torch.Tensor) -> int:
        """Like `add` for what existed before the iteration; slots number the inputs."""
        known = self.find(tensor)
        if known is not None:
            return known
        return self.add(tensor, "input", slot=sum(e.kind == "input" for e in self._entries))

    def has_grown(self, tensor: torch.Tensor) -> bool:
        """Whether the storage is larger than it ever was before; from now on it is not."""
        entry = self._entries[self._ids[_storage(tensor)._cdata]]
        grown = _storage(tensor).nbytes() > entry.bytes
        entry.bytes = max(entry.bytes, _storage(tensor).nbytes())
        return grown

    def kind(self, storage: int) -> Kind:
        return self._entries[storage].kind

    def set_kind(self, tensor: torch.Tensor, kind: Kind) -> None:
        """Say what a storage holds, once that is known; a storage never seen is ignored."""
        storage = self.find(tensor)
        if storage is not None:
            self._entries[storage].kind = kind

    def holds(self, kind: Kind, dtypes: Collection[str]) -> bool:
        """Whether there is a storage of that kind and one of those element types."""
        return any(e.kind == kind and e.dtype in dtypes for e in self._entries)

    def records(self, final: bool = False) -> tuple[Storage, ...]:
        """All storages by id; `final` as in Storage."""
        return tuple(
            Storage(i, e.kind, e.dtype, e.bytes, e.producer, e.slot, final)
            for i, e in enumerate(self._entries)
        )


def dtype_name(tensor: torch.Tensor) -> str:
    """Name of the element type without torch's prefix, e.g. "float32"."""
    return str(tensor.dtype).removeprefix("torch.")


def _storage(tensor: torch.Tensor) -> torch.UntypedStorage:
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        raise InputError(
            f"cannot trace a tensor of layout {tensor.layout}: it has no storage of its own; "
            "only strided tensors can be traced"
        ) from None

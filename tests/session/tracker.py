"""Counts living storages without anything of the package."""

import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Tracker(TorchDispatchMode):
    """Every storage that an operator returns, until it is gone; replays are operators as well."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self._model = model
        self._residents = {
            p.untyped_storage()._cdata for p in (*model.parameters(), *model.buffers())
        }
        self._living: dict[int, tuple[int, Any]] = {}
        self._changes: list[tuple[int, int]] = []

    def peak_bytes(self) -> int:
        """The most at any time, parameters, buffers, gradients and what existed before left out."""
        grads = [p.grad for p in self._model.parameters() if p.grad is not None]
        outside = {self._living.get(g.untyped_storage()._cdata, (-1,))[0] for g in grads}
        used = peak = 0
        for serial, change in self._changes:
            if serial not in outside:
                used += change
                peak = max(peak, used)
        return peak

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        before = {
            t.untyped_storage()._cdata
            for t in tree_leaves((args, kwargs or {}))
            if isinstance(t, torch.Tensor)
        }
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                self._see(tensor.untyped_storage(), before)
        return out

    def _see(self, storage: torch.UntypedStorage, before: set[int]) -> None:
        address, size, serial = storage._cdata, storage.nbytes(), len(self._changes)
        if address in self._living or address in self._residents or address in before:
            return

        def gone(_: object) -> None:
            if self._living.pop(address, None) is not None:
                self._changes.append((serial, -size))

        self._living[address] = serial, weakref.ref(storage, gone)
        self._changes.append((serial, size))

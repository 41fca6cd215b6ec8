"""Counts living storages without the package's own meter."""

import weakref
from threading import RLock
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from planezip.execution.device import Cpu


class Tracker(TorchDispatchMode):
    """Every storage that an operator returns or that the device hands out, until it is gone.

    Replays are operators as well; the device is asked by worker threads for what comes back and
    for what stays compressed.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self._model = model
        self._residents = {
            p.untyped_storage()._cdata for p in (*model.parameters(), *model.buffers())
        }
        self._living: dict[int, tuple[int, Any]] = {}
        self._changes: list[tuple[int, int]] = []
        self._lock = RLock()
        real = Cpu.allocate

        def allocate(device: Cpu, nbytes: int) -> torch.UntypedStorage:
            memory = real(device, nbytes)
            self._see(memory, set())
            return memory

        self._device = mock.patch.object(Cpu, "allocate", allocate)

    def __enter__(self) -> "Tracker":
        self._device.start()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._device.stop()

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
            (t.untyped_storage() if isinstance(t, torch.Tensor) else t)._cdata
            for t in tree_leaves((args, kwargs or {}))
            if isinstance(t, (torch.Tensor, torch.UntypedStorage))
        }
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                self._see(tensor.untyped_storage(), before)
        return out

    def _see(self, storage: torch.UntypedStorage, before: set[int]) -> None:
        with self._lock:
            address, size, serial = storage._cdata, storage.nbytes(), len(self._changes)
            if address in self._living or address in self._residents or address in before:
                return

            def gone(_: object) -> None:
                with self._lock:
                    if self._living.pop(address, None) is not None:
                        self._changes.append((serial, -size))

            self._living[address] = serial, weakref.ref(storage, gone)
            self._changes.append((serial, size))

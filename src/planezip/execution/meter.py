"""How much memory a pass really takes: every storage that operators make, from first to last."""

import weakref
from collections.abc import Iterable
from functools import partial
from threading import RLock
from time import perf_counter
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from planezip.execution.schema import schema_of, tensors_in


class Meter:
    """Follows storages, of any thread; what nobody shows it does not count."""

    def __init__(self) -> None:
        self._serial: dict[int, int] = {}  # address of a living storage -> its serial number
        self._references: dict[int, Any] = {}
        self._events: list[tuple[float, int, int]] = []  # (when, serial number, bytes more)
        self._count = 0
        self._lock = RLock()  # a storage may go while another one is entered

    def see_result(self, func: OpOverload[..., Any], out: Any) -> Any:
        """Count what an operator made: no view, and nothing that was there before; returns it."""
        if not (schema_of(func).is_view or schema_of(func).mutated):
            for tensor in tensors_in(out):
                if tensor.layout is torch.strided and type(tensor) is torch.Tensor:
                    self.see(tensor.untyped_storage())
        return out

    def see(self, memory: torch.UntypedStorage) -> None:
        """Count a storage until it is gone."""
        with self._lock:
            address = memory._cdata
            if address in self._serial:
                return
            serial, size = self._count, memory.nbytes()
            self._count += 1
            self._serial[address] = serial
            gone = partial(_gone, weakref.ref(self), address, size)
            self._references[serial] = weakref.ref(memory, gone)
            self._events.append((perf_counter(), serial, size))

    def history(self, outside: Iterable[torch.Tensor]) -> list[tuple[float, int]]:
        """(time, bytes from then on), without the storages of tensors outside the budget."""
        with self._lock:
            left_out = {self._serial.get(t.untyped_storage()._cdata) for t in outside}
            events = list(self._events)
        used, found = 0, []
        for when_s, serial, change in events:
            if serial not in left_out:
                used += change
                found.append((when_s, used))
        return found

    def peak_bytes(self, outside: Iterable[torch.Tensor]) -> int:
        """The most bytes at any time, without the storages of tensors outside the budget."""
        return max((used for _, used in self.history(outside)), default=0)

    def gone(self, address: int, size: int) -> None:
        """A storage's memory was given back."""
        with self._lock:
            serial = self._serial.pop(address)
            del self._references[serial]
            self._events.append((perf_counter(), serial, -size))


def _gone(meter: "weakref.ref[Meter]", address: int, size: int, _: Any) -> None:
    living = meter()
    if living is not None:
        living.gone(address, size)


class Metering(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Shows a meter what every operator makes; for passes that nothing else records."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._meter = meter

    def __torch_dispatch__(
        self,
        func: OpOverload[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return self._meter.see_result(func, func(*args, **(kwargs or {})))

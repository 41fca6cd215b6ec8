"""How much memory a pass really takes: every storage that operators make, from first to last."""

import weakref
from collections.abc import Iterable
from functools import partial
from typing import Any

import torch


class Meter:
    """Follows storages; what nobody shows it does not count."""

    def __init__(self) -> None:
        self._serial: dict[int, int] = {}  # address of a living storage -> its serial number
        self._references: dict[int, Any] = {}
        self._events: list[tuple[int, int]] = []  # (serial number, bytes that came or went)
        self._count = 0

    def see(self, memory: torch.UntypedStorage) -> None:
        """Count a storage until it is gone."""
        address = memory._cdata
        if address in self._serial:
            return
        serial, size = self._count, memory.nbytes()
        self._count += 1
        self._serial[address] = serial
        gone = partial(_gone, weakref.ref(self), address, size)
        self._references[serial] = weakref.ref(memory, gone)
        self._events.append((serial, size))

    def peak_bytes(self, outside: Iterable[torch.Tensor]) -> int:
        """The most bytes at any time, without the storages of tensors that lie outside the budget."""
        left_out = {self._serial.get(t.untyped_storage()._cdata) for t in outside}
        used = peak = 0
        for serial, change in self._events:
            if serial not in left_out:
                used += change
                peak = max(peak, used)
        return peak

    def gone(self, address: int, size: int) -> None:
        """A storage's memory was given back."""
        serial = self._serial.pop(address)
        del self._references[serial]
        self._events.append((serial, -size))


def _gone(meter: "weakref.ref[Meter]", address: int, size: int, _: Any) -> None:
    living = meter()
    if living is not None:
        living.gone(address, size)

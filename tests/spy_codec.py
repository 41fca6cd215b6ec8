"""A codec that reports what capturing asks of it."""

from dataclasses import dataclass, field

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from planezip.codec import Measurement


@dataclass
class Spy:
    """A codec of given sizes that remembers what it was asked, without keeping any tensor."""

    raw: list[bytes] = field(default_factory=list)
    asked: list[tuple[torch.dtype, int | None, int]] = field(default_factory=list)
    handed: dict[StorageWeakRef, int] = field(default_factory=dict)
    live_bytes: list[int] = field(default_factory=list)
    names: tuple[str, ...] = ("planezip",)
    damage: bool = False

    def measure(self, x: torch.Tensor, symbol_bits: int | None, stride: int) -> Measurement:
        self.asked.append((x.dtype, symbol_bits, stride))
        if x.dtype == torch.bfloat16:
            # The copies made for measuring that still exist, this one included.
            self.handed[StorageWeakRef(x.untyped_storage())] = x.nbytes
            live = [size for ref, size in self.handed.items() if not ref.expired()]
            self.live_bytes.append(sum(live))
        else:
            self.raw.append(x.view(torch.uint8).numpy().tobytes())
        return Measurement(x.nbytes, {"planezip": max(1, x.nbytes // 2)}, {"bx": x.nbytes // 128})

    def roundtrip(self, x: torch.Tensor, name: str) -> torch.Tensor:
        back = x.clone()
        if self.damage:
            back.view(torch.uint8)[-1] ^= 1
        return back

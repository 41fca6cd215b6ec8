"""What a device has to do for its tensors to be swapped and compressed in place.

Everything else in this package speaks to tensors through torch, wherever they lie. A GPU comes in
by another class of this kind: its codec reads device memory and writes the stream to pinned host
memory or, for a copy that stays, to device memory, on a stream of its own.
"""

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from planezip.codec.api import compress, compress_bound, decompress
from planezip.execution.geometry import whole

Bytes = NDArray[np.uint8]
Memory = torch.UntypedStorage


class Device(Protocol):
    """Memory of a device and the codec beside it; called by several threads at once."""

    def allocate(self, nbytes: int) -> Memory:
        """Device memory of undefined contents."""

    def bound(self, nbytes: int) -> int:
        """The most bytes that `encode` makes of a storage."""

    def encode(self, memory: Memory, dtype: torch.dtype, out: Bytes) -> int:
        """Compress a storage as elements of `dtype` into host memory; the stream's size."""

    def decode(self, stream: Bytes, memory: Memory, dtype: torch.dtype) -> None:
        """Fill a storage from a stream in host memory, bit for bit."""

    def keep(self, stream: Bytes) -> Memory:
        """A copy of a stream in device memory."""

    def read(self, kept: Memory) -> Bytes:
        """That stream, where `decode` can read it."""


class Cpu:
    """Main memory as the device: one codec thread for every caller."""

    def allocate(self, nbytes: int) -> Memory:
        return torch.UntypedStorage(nbytes)  # type: ignore[no-untyped-call]

    def bound(self, nbytes: int) -> int:
        return compress_bound(nbytes)

    def encode(self, memory: Memory, dtype: torch.dtype, out: Bytes) -> int:
        return int(compress(whole(memory, dtype), threads=1, out=out))

    def decode(self, stream: Bytes, memory: Memory, dtype: torch.dtype) -> None:
        decompress(stream, out=whole(memory, dtype), threads=1)

    def keep(self, stream: Bytes) -> Memory:
        kept = self.allocate(len(stream))
        self.read(kept)[:] = stream
        return kept

    def read(self, kept: Memory) -> Bytes:
        return whole(kept, torch.uint8).numpy()

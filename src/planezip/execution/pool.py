"""Where compressed tensors lie: chunks of one size, so that no memory is lost between them."""

import os
import tempfile
import weakref
from collections.abc import Callable
from heapq import heappop, heappush
from pathlib import Path
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planezip.errors import InputError
from planezip.units import MIB

Bytes = NDArray[np.uint8]

CHUNK_BYTES = 1 << 16
_SLAB_CHUNKS = 256


class PoolFullError(Exception):
    """The pool's capacity does not hold what is to be stored."""


class Backing(Protocol):
    """Chunks by number; a new one is made by the first write to it."""

    def write(self, chunk: int, data: Bytes) -> None: ...
    def read(self, chunk: int, out: Bytes) -> None: ...
    def shrink(self, chunks: int) -> None:
        """Give back what is beyond the first so many."""

    @property
    def close(self) -> Callable[[], object]: ...


class HostMemory:
    """Slabs of host memory, made when they are needed."""

    def __init__(self) -> None:
        self._slabs: list[Bytes] = []

    def write(self, chunk: int, data: Bytes) -> None:
        slab, row = divmod(chunk, _SLAB_CHUNKS)
        while len(self._slabs) <= slab:
            self._slabs.append(np.empty((_SLAB_CHUNKS, CHUNK_BYTES), np.uint8))
        self._slabs[slab][row, : len(data)] = data

    def read(self, chunk: int, out: Bytes) -> None:
        slab, row = divmod(chunk, _SLAB_CHUNKS)
        out[:] = self._slabs[slab][row, : len(out)]

    def shrink(self, chunks: int) -> None:
        del self._slabs[-(-chunks // _SLAB_CHUNKS) :]

    def close(self) -> None:
        self._slabs.clear()


class SpillFile:
    """An unnamed file in `folder`, which is gone when the process ends, however it ends."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not Path(folder).is_dir():
            raise InputError(f"{os.fspath(folder)!r} is no folder; name one on a local disk")
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - until close
        self.close = weakref.finalize(self, self._file.close)

    def write(self, chunk: int, data: Bytes) -> None:
        rest, offset = memoryview(data.data), chunk * CHUNK_BYTES
        while rest:
            written = os.pwrite(self._file.fileno(), rest, offset)
            rest, offset = rest[written:], offset + written

    def shrink(self, chunks: int) -> None:
        size = chunks * CHUNK_BYTES
        if os.fstat(self._file.fileno()).st_size > size:
            os.truncate(self._file.fileno(), size)

    def read(self, chunk: int, out: Bytes) -> None:
        rest, offset = memoryview(out.data), chunk * CHUNK_BYTES
        while rest:
            count = os.preadv(self._file.fileno(), [rest], offset)
            if not count:
                raise OSError("the spill file was cut off")
            rest, offset = rest[count:], offset + count


class Pool:
    """Stores byte strings in chunks; safe to use from several threads.

    Args:
        capacity_bytes: limit on the chunks in use.
        spill: what takes the chunks beyond the capacity, if anything.

    Attributes:
        used_bytes, peak_bytes: chunks in use in memory, now and at most, times their size.
        spilled_bytes: chunks in use beyond the capacity.
    """

    def __init__(self, capacity_bytes: int, spill: SpillFile | None = None) -> None:
        self._limit = capacity_bytes // CHUNK_BYTES
        self._tiers: tuple[_Tier, ...] = (_Tier(HostMemory(), self._limit),)
        if spill is not None:
            self._tiers += (_Tier(spill, 1 << 62),)
        self._lock = Lock()

    def put(self, data: Bytes) -> "Record":
        """Store a copy of `data`; PoolFullError if it does not fit."""
        count = -(-len(data) // CHUNK_BYTES)
        with self._lock:
            tier = next((t for t in self._tiers if t.fits(count)), None)
            if tier is None:
                raise PoolFullError(
                    f"{len(data)} bytes do not fit a pool of {self._limit * CHUNK_BYTES}"
                )
            chunks = tier.take(count)
        try:
            for i, chunk in enumerate(chunks):
                tier.backing.write(chunk, data[i * CHUNK_BYTES : (i + 1) * CHUNK_BYTES])
        except OSError as error:
            self._give_back(tier, chunks)
            raise PoolFullError(str(error)) from error
        except BaseException:
            self._give_back(tier, chunks)
            raise
        return Record(self, tier, chunks, len(data))

    @property
    def used_bytes(self) -> int:
        return self._tiers[0].used * CHUNK_BYTES

    @property
    def peak_bytes(self) -> int:
        return self._tiers[0].most * CHUNK_BYTES

    @property
    def spilled_bytes(self) -> int:
        return sum(t.used for t in self._tiers[1:]) * CHUNK_BYTES

    def shrink(self) -> None:
        """Give memory back that lies behind all that is in use."""
        with self._lock:
            for tier in self._tiers:
                tier.shrink()

    def close(self) -> None:
        """Give the memory back; records become unreadable."""
        for tier in self._tiers:
            tier.backing.close()

    def _give_back(self, tier: "_Tier", chunks: list[int]) -> None:
        with self._lock:
            tier.give_back(chunks)


class _Tier:
    def __init__(self, backing: Backing, limit: int) -> None:
        self.backing, self._limit = backing, limit
        self._free: list[int] = []  # a heap: what is in use lies close together
        self._made = 0
        self.used = self.most = 0

    def fits(self, count: int) -> bool:
        return self.used + count <= self._limit

    def take(self, count: int) -> list[int]:
        reused = [heappop(self._free) for _ in range(min(count, len(self._free)))]
        new = count - len(reused)
        chunks = [*reused, *range(self._made, self._made + new)]
        self._made += new
        self.used += count
        self.most = max(self.most, self.used)
        return chunks

    def give_back(self, chunks: list[int]) -> None:
        for chunk in chunks:
            heappush(self._free, chunk)
        self.used -= len(chunks)

    def shrink(self) -> None:
        free = set(self._free)
        while self._made - 1 in free:
            self._made -= 1
        self._free = sorted(chunk for chunk in free if chunk < self._made)  # a heap as well
        self.backing.shrink(self._made)


class Record:
    """What was stored; its chunks are free again when it is gone.

    Attributes:
        nbytes: its length.
    """

    def __init__(self, pool: Pool, tier: _Tier, chunks: list[int], nbytes: int) -> None:
        self._pool, self._tier, self._chunks, self.nbytes = pool, tier, chunks, nbytes

    def read(self, out: Bytes) -> None:
        """Copy it into the first `nbytes` of `out`."""
        for i, chunk in enumerate(self._chunks):
            start = i * CHUNK_BYTES
            self._tier.backing.read(chunk, out[start : min(start + CHUNK_BYTES, self.nbytes)])

    def __del__(self) -> None:
        self._pool._give_back(self._tier, self._chunks)


DEFAULT_CAPACITY_BYTES = 4096 * MIB

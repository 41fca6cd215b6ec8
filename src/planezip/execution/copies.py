"""Compressed copies of storages, made and read back by worker threads."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock, local
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import torch

from planezip.execution.device import Bytes, Cpu, Device, Memory
from planezip.execution.pool import Pool, Record

T = TypeVar("T")
OnMemory = Callable[[Memory], None]


def _nothing(memory: Memory) -> None:
    """Nobody counts."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A storage's contents, compressed.

    Attributes:
        stream: where the stream lies: a record in the pool, or device memory.
        stream_bytes: its size.
        raw_bytes: size of the storage.
    """

    stream: Record | Memory
    stream_bytes: int
    raw_bytes: int
    dtype: torch.dtype

    @property
    def ratio(self) -> float:
        return self.raw_bytes / max(1, self.stream_bytes)


@dataclass(frozen=True, slots=True)
class Work:
    """Bytes of storages and the seconds that they took."""

    raw_bytes: int = 0
    compressed_bytes: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.raw_bytes + other.raw_bytes,
            self.compressed_bytes + other.compressed_bytes,
            self.seconds + other.seconds,
        )

    def __sub__(self, other: "Work") -> "Work":
        return Work(
            self.raw_bytes - other.raw_bytes,
            self.compressed_bytes - other.compressed_bytes,
            self.seconds - other.seconds,
        )

    @property
    def ratio(self) -> float:
        """Raw over compressed bytes, 1 if there was no work."""
        return self.raw_bytes / self.compressed_bytes if self.compressed_bytes else 1.0

    @property
    def bytes_per_s(self) -> float:
        """The rate, 0 if there was no work."""
        return self.raw_bytes / self.seconds if self.seconds else 0.0


class Copier:
    """Makes and reads copies, `workers` at a time.

    Args:
        pool: where copies that leave device memory go.

    Attributes:
        out, back: all work so far.
    """

    def __init__(self, pool: Pool, workers: int = 1, device: Device | None = None) -> None:
        self.workers = workers
        self.out, self.back = Work(), Work()
        self._device = device or Cpu()
        self._pool = pool
        self._workers = ThreadPoolExecutor(workers, thread_name_prefix="planezip")
        self._scratch = local()
        self._lock = Lock()
        self._closed = False

    def start(self, work: Callable[..., T], *args: Any) -> "Future[T]":
        """Let a worker thread do it; what `restore` raises."""
        self._check_open()
        return self._workers.submit(work, *args)

    def make(
        self, memory: Memory, dtype: torch.dtype, in_place: bool, seen: OnMemory = _nothing
    ) -> Copy:
        """Compress a storage; `seen` is told of device memory that the copy takes.

        Raises:
            PoolFullError: the pool does not take it.
        """
        start = perf_counter()
        scratch = self._room(self._device.bound(memory.nbytes()))
        size = self._device.encode(memory, dtype, scratch)
        stream: Record | Memory
        if in_place:
            stream = self._device.keep(scratch[:size])
            seen(stream)
        else:
            stream = self._pool.put(scratch[:size])
        with self._lock:
            self.out += Work(memory.nbytes(), size, perf_counter() - start)
        return Copy(stream, size, memory.nbytes(), dtype)

    def restore(self, copy: Copy, seen: OnMemory = _nothing) -> Memory:
        """A new storage with the contents, bit for bit; `seen` is told as soon as it exists.

        Raises:
            RuntimeError: the copier is closed.
        """
        self._check_open()
        start = perf_counter()
        memory = self._device.allocate(copy.raw_bytes)
        seen(memory)
        if isinstance(copy.stream, Record):
            stream = self._room(copy.stream_bytes)[: copy.stream_bytes]
            copy.stream.read(stream)
        else:
            stream = self._device.read(copy.stream)
        self._device.decode(stream, memory, copy.dtype)
        with self._lock:
            self.back += Work(copy.raw_bytes, copy.stream_bytes, perf_counter() - start)
        return memory

    def close(self) -> None:
        """End the threads when they have done what they are at."""
        self._workers.shutdown(wait=True)
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the session was closed before backward, activations and all")

    def _room(self, size: int) -> Bytes:
        """Memory for a stream that this thread uses again and again."""
        scratch: Bytes | None = getattr(self._scratch, "memory", None)
        if scratch is None or len(scratch) < size:
            scratch = self._scratch.memory = np.empty(size, np.uint8)
        return scratch

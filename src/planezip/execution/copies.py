"""Compressed copies of storages, made and read back by worker threads."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import local
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import torch

from planezip.codec.api import compress, compress_bound, decompress
from planezip.execution.geometry import whole
from planezip.execution.pool import Bytes, Pool, Record

Memory = torch.UntypedStorage
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InPlace:
    """A stream that stays in device memory."""

    stream: Bytes

    @property
    def nbytes(self) -> int:
        return len(self.stream)

    def read(self, out: Bytes) -> None:
        out[: self.nbytes] = self.stream


@dataclass(frozen=True, slots=True)
class Copy:
    """A storage's contents, compressed.

    Attributes:
        stream: where the stream lies.
        raw_bytes: size of the storage.
    """

    stream: Record | InPlace
    raw_bytes: int
    dtype: torch.dtype

    @property
    def ratio(self) -> float:
        return self.raw_bytes / max(1, self.stream.nbytes)


@dataclass(slots=True)
class Work:
    """Bytes of storages and the seconds that they took."""

    raw_bytes: int = 0
    compressed_bytes: int = 0
    seconds: float = 0.0

    def add(self, raw_bytes: int, compressed_bytes: int, seconds: float) -> None:
        self.raw_bytes += raw_bytes
        self.compressed_bytes += compressed_bytes
        self.seconds += seconds

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

    def __init__(self, pool: Pool, workers: int = 1) -> None:
        self.workers = workers
        self.out, self.back = Work(), Work()
        self._pool = pool
        self._workers = ThreadPoolExecutor(workers, thread_name_prefix="planezip")
        self._scratch = local()

    def start(self, work: Callable[..., T], *args: Any) -> "Future[T]":
        """Let a worker thread do it."""
        return self._workers.submit(work, *args)

    def make(self, memory: Memory, dtype: torch.dtype, in_place: bool) -> Copy:
        """Compress a storage.

        Raises:
            PoolFullError: the pool does not take it.
        """
        start = perf_counter()
        scratch = self._room(compress_bound(memory.nbytes()))
        size = compress(whole(memory, dtype), threads=1, out=scratch)
        data = scratch[:size]
        stream = InPlace(data.copy()) if in_place else self._pool.put(data)
        self.out.add(memory.nbytes(), size, perf_counter() - start)
        return Copy(stream, memory.nbytes(), dtype)

    def restore(self, copy: Copy) -> Memory:
        """A new storage with the contents, bit for bit."""
        start = perf_counter()
        scratch = self._room(copy.stream.nbytes)
        copy.stream.read(scratch)
        memory = torch.UntypedStorage(copy.raw_bytes)  # type: ignore[no-untyped-call]
        decompress(scratch[: copy.stream.nbytes], out=whole(memory, copy.dtype), threads=1)
        self.back.add(copy.raw_bytes, copy.stream.nbytes, perf_counter() - start)
        return memory

    def close(self) -> None:
        """End the threads when they have done what they are at."""
        self._workers.shutdown(wait=True, cancel_futures=True)

    def _room(self, size: int) -> Bytes:
        """Memory for a stream that this thread uses again and again."""
        scratch: Bytes | None = getattr(self._scratch, "memory", None)
        if scratch is None or len(scratch) < size:
            scratch = self._scratch.memory = np.empty(size, np.uint8)
        return scratch

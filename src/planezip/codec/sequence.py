"""Sequences: files of whole streams, one behind the other, that only ever grow.

Byte layout in docs/format.md, "Sequences". What is larger than memory is appended part by part and
read back part by part.
"""

import mmap
import os
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, cast, overload

import xxhash

from planezip.codec.api import decompress
from planezip.codec.durable import sync_folder
from planezip.codec.format import SEQUENCE_MAGIC
from planezip.codec.random_access import StreamView
from planezip.codec.streaming import write_stream
from planezip.errors import CorruptStreamError, InputError

_HEADER = struct.Struct("<4sIQQ")  # magic, 0, bytes of the stream, checksum of these

_READ_BYTES = 1 << 30  # the system reads no 2 GiB at once


def _header(size: int) -> bytes:
    summed = struct.pack("<4sIQ", SEQUENCE_MAGIC, 0, size)
    return summed + struct.pack("<Q", xxhash.xxh3_64_intdigest(summed))


@dataclass(frozen=True, slots=True)
class _Scan:
    """Offset and size of every whole stream; where the last ends; what is wrong behind it.

    A file that does not begin well was never a sequence.
    """

    streams: list[tuple[int, int]]
    end: int
    fault: str | None
    begins_well: bool


def _scan(file: BinaryIO) -> _Scan:
    """Read the headers of all records."""
    size = file.seek(0, os.SEEK_END)
    streams: list[tuple[int, int]] = []
    at, fault, begins_well = 0, None, True
    while at < size and fault is None:
        file.seek(at)
        header = file.read(_HEADER.size)
        stream = at + _HEADER.size
        if not any(header):
            fault = "torn"
        elif not header.startswith(SEQUENCE_MAGIC[: len(header)]):
            fault, begins_well = "damaged", bool(streams)
        elif len(header) < _HEADER.size:
            fault = "torn"
        elif header != _header(length := _HEADER.unpack(header)[2]):
            fault = "damaged"
        elif length > size - stream:
            fault = "torn"
        else:
            streams.append((stream, length))
            at = stream + length
    why = f"the sequence is {fault} from byte {at} on, behind {len(streams)} whole streams"
    return _Scan(streams, at, why if fault else None, begins_well)


class _Sequence:
    """A file that is closed at the end of a `with` block."""

    _file: BinaryIO

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()


def _open(path: str | Path | int, mode: str, verb: str) -> BinaryIO:
    try:
        return cast(BinaryIO, open(path, mode))
    except OSError as error:
        raise InputError(f"cannot {verb} {path}: {error.strerror}") from None


def _read_at(file: BinaryIO, offset: int, size: int) -> bytes:
    """So many bytes of a file, or as many as there are; its position plays no part.

    Threads, and processes after a fork, share the position.
    """
    parts = []
    while size and (part := os.pread(file.fileno(), min(size, _READ_BYTES), offset)):
        parts.append(part)
        offset, size = offset + len(part), size - len(part)
    return b"".join(parts)


class SequenceWriter(_Sequence):
    """Appends streams to a file, which it creates if there is none.

    A stream counts once append() has returned: a process that dies before leaves a torn tail, and
    what is before it stays readable. close() and sync() put what was appended on the disk. One
    process at a time may write, with any number of threads; any number may read.
    """

    def __init__(self, path: str | Path, repair: bool = False) -> None:
        """Open a sequence to append to.

        Args:
            path: the file.
            repair: cut off what is torn or damaged at its end, rather than refuse to go on.

        Raises:
            InputError: the file cannot be written, or is torn or damaged and `repair` is off.
        """
        self._lock = threading.Lock()
        new = not Path(path).exists()
        self._file = _open(path, "x+b" if new else "r+b", "write")
        if new:
            sync_folder(Path(path).parent)
        found = _scan(self._file)
        if found.fault and not (repair and found.begins_well):
            self._file.close()
            remedy = "repair=True cuts the rest off" if found.begins_well else "it is no sequence"
            raise InputError(f"cannot append to {path}: {found.fault}; {remedy}")
        self._file.seek(found.end)
        self._file.truncate()

    def append(
        self,
        x: Any,
        codec: str = "planezip",
        symbol_bits: int | None = None,
        threads: int | None = None,
    ) -> int:
        """Compress x as compress() does, behind what is there; return the bytes it took.

        If that fails, the file is as it was.
        """
        with self._lock:
            start = self._file.tell()
            try:
                return self._append(start, x, codec, symbol_bits, threads)
            except BaseException:
                self._file.seek(start)
                self._file.truncate()
                raise

    def _append(self, start: int, *contents_and_options: Any) -> int:
        self._file.write(bytes(_HEADER.size))
        size = write_stream(self._file, *contents_and_options)
        end = self._file.tell()
        self._file.flush()
        self._file.seek(start)
        self._file.write(_header(size))  # from here on it counts
        self._file.flush()
        self._file.seek(end)
        return end - start

    def sync(self) -> None:
        """Wait until the disk has everything that was appended."""
        with self._lock:
            self._sync()

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Sync and close."""
        with self._lock:
            if not self._file.closed:
                self._sync()
                self._file.close()


class SequenceReader(_Sequence):
    """The streams of a sequence, as many as there were when it was opened.

    Every stream is verified by its own checksum when it is read. Iterating gives what was appended,
    in order; if the file is torn or damaged behind it, then raises CorruptStreamError. Any number
    of threads may read at once.

    Attributes:
        fault: what is wrong behind the last whole stream; None if nothing is.
    """

    def __init__(self, path: str | Path | int) -> None:
        """Open a sequence and read the headers of its records.

        Args:
            path: the file, or the descriptor of one that is open, which close() closes.

        Raises:
            InputError: the file cannot be read.
        """
        self._file = _open(path, "rb", "read")
        found = _scan(self._file)
        self._streams, self.fault = found.streams, found.fault

    def __len__(self) -> int:
        """Number of whole streams."""
        return len(self._streams)

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        """What was appended as that one, or a list; CorruptStreamError if it is damaged."""
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        return decompress(self.stream(index))

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self)):
            yield self[index]
        if self.fault:
            raise CorruptStreamError(self.fault)

    def stream(self, index: int) -> bytes:
        """The bytes of a stream, not verified."""
        return _read_at(self._file, *self._streams[index])

    def view(self, index: int, verify: bool = True) -> StreamView:
        """A stream to read parts of, which may be larger than memory.

        It is mapped, not read, and stays usable when the reader is closed. A file that another
        program cuts off meanwhile, which a SequenceWriter never does to whole streams, ends the
        process that reads behind its end (SIGBUS).

        Args:
            index: which stream.
            verify: compare the checksum, which reads all of it once; see StreamView.

        Raises:
            CorruptStreamError: the stream is damaged.
        """
        offset, size = self._streams[index]
        behind = offset % mmap.ALLOCATIONGRANULARITY
        start, length = offset - behind, behind + size
        mapped = mmap.mmap(self._file.fileno(), length, access=mmap.ACCESS_READ, offset=start)
        return StreamView(memoryview(mapped)[behind:], verify)

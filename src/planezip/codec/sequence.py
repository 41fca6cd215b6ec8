"""Sequences: files of whole streams, one behind the other, that only ever grow.

Byte layout in docs/format.md, "Sequences". What is larger than memory is appended part by part and
read back part by part.
"""

import mmap
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, overload

from planezip.codec.api import decompress
from planezip.codec.random_access import StreamView
from planezip.codec.sequence_file import SequenceFile
from planezip.codec.sequence_records import HEADER_BYTES, header, scan, scan_beside_writers
from planezip.codec.streaming import write_stream
from planezip.errors import CorruptStreamError, InputError


class _Sequence:
    """A file that is closed at the end of a `with` block."""

    _file: SequenceFile

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


class SequenceWriter(_Sequence):
    """Appends streams to a file, which it creates if there is none.

    A stream counts once append() has returned: a process that dies before leaves a torn tail, and
    what is before it stays readable. close() and sync() put what was appended on the disk.

    One writer at a time may have a file open, with any number of threads, and any number of
    readers may read meanwhile. The file is locked (flock) until the writer is closed or its
    process ends; on a file system without such locks, its users must see to it themselves. A
    forked process has no part in the writer and must open one of its own, once this is closed.
    """

    def __init__(self, path: str | Path, repair: bool = False) -> None:
        """Open a sequence to append to.

        Args:
            path: the file.
            repair: cut off what is torn or damaged at its end, rather than refuse to go on.

        Raises:
            InputError: the file cannot be written, another writer has it open, or it is torn or
                damaged and `repair` is off.
        """
        self._lock = threading.Lock()
        self._file = SequenceFile(path, "write")
        try:
            with self._file.in_use():
                found = scan(self._file)
                if found.fault and not (repair and found.begins_well):
                    remedy = "repair=True cuts the rest off"
                    remedy = remedy if found.begins_well else "it is no sequence"
                    raise InputError(f"cannot append to {path}: {found.fault}; {remedy}")
                self._cut(found.end)
        except BaseException:
            self._file.close()
            raise

    def append(
        self,
        x: Any,
        codec: str = "planezip",
        symbol_bits: int | None = None,
        threads: int | None = None,
    ) -> int:
        """Compress x as compress() does, behind what is there; return the bytes it took.

        If that fails, the file is as it was.

        Raises:
            InputError: an argument cannot be used, the file cannot be written, the disk is full.
        """
        with self._file.in_use(), self._lock, self._file.in_use():
            start = self._file.tell()
            try:
                return self._append(start, x, codec, symbol_bits, threads)
            except BaseException:
                self._cut(start)
                raise

    def _append(self, start: int, *contents_and_options: Any) -> int:
        self._file.write(bytes(HEADER_BYTES))
        size = write_stream(self._file, *contents_and_options)
        end = self._file.tell()
        self._file.seek(start)
        self._file.write(header(size))  # from here on it counts
        self._file.seek(end)
        return end - start

    def _cut(self, end: int) -> None:
        self._file.seek(end)
        self._file.truncate()

    def sync(self) -> None:
        """Wait until the disk has everything that was appended; InputError if it cannot."""
        with self._file.in_use(), self._lock, self._file.in_use():
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Sync and close, and let others write; InputError if the disk cannot."""
        if self._file.inherited:  # and perhaps the lock, from a thread that is not here
            self._file.close()
            return
        with self._lock:
            if not self._file.closed:
                self._file.finish()


class SequenceReader(_Sequence):
    """The streams of a sequence, as many as there were when it was opened.

    Every stream is verified by its own checksum when it is read. Iterating gives what was appended,
    in order; if the file is torn or damaged behind it, then raises CorruptStreamError. Any number
    of threads and processes may read at once, and while a SequenceWriter appends: what it has not
    appended wholly is not there yet, and no fault. (On a file system without flock it is taken for
    torn.)

    Attributes:
        fault: what is wrong behind the last whole stream; None if nothing is.
    """

    def __init__(self, path: str | Path | int) -> None:
        """Open a sequence and read the headers of its records.

        Args:
            path: the file, or the descriptor of one that is open, which close() closes.

        Raises:
            InputError: the file cannot be read, or is no regular one.
        """
        self._file = SequenceFile(path, "read")
        try:
            with self._file.in_use():
                found = scan_beside_writers(self._file)
        except BaseException:
            self._file.close()
            raise
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
        """The bytes of a stream, not verified; InputError if the file cannot be read."""
        with self._file.in_use():
            return self._file.at(*self._streams[index])

    def view(self, index: int, verify: bool = True) -> StreamView:
        """A stream to read parts of, which may be larger than memory.

        It is mapped, not read, and stays usable when the reader is closed. A file that another
        program cuts off meanwhile, which a SequenceWriter never does to whole streams, ends the
        process that reads behind its end (SIGBUS).

        Args:
            index: which stream.
            verify: compare the checksum, which reads all of it once; see StreamView.

        Raises:
            CorruptStreamError: the stream is damaged, or the file was cut off before its end.
            InputError: the file cannot be mapped.
        """
        offset, size = self._streams[index]
        behind = offset % mmap.ALLOCATIONGRANULARITY
        start, length = offset - behind, behind + size
        with self._file.in_use():
            try:
                file = self._file.fileno()
                mapped = mmap.mmap(file, length, access=mmap.ACCESS_READ, offset=start)
            except ValueError:
                raise CorruptStreamError(
                    f"the sequence ends before stream {index} does; it was cut off since"
                ) from None
        return StreamView(memoryview(mapped)[behind:length], verify)

"""Files of sequences: regular, written by one process at a time; every error is one line."""

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, Literal
from weakref import WeakSet

from planezip.codec.durable import sync_folder
from planezip.errors import InputError

_READ_BYTES = 1 << 30  # the system reads no 2 GiB at once

_LOCK_TRIES, _LOCK_PAUSE_S = 20, 0.01  # a reader that looks for writers locks for a moment


class SequenceFile(FileIO):
    """An open file. Nothing is buffered: what could not be written is not written later."""

    def __init__(self, path: str | Path | int, verb: Literal["read", "write"]) -> None:
        """Open a file; to "write" also creates and locks it.

        A file is locked by flock(2), as long as it is open here: a process that is killed, or
        replaces itself, lets go of it, and forked ones have no part in it. Where the file system
        has no such locks, nothing is locked.

        Raises:
            InputError: it cannot be opened, is no regular file, or is locked by another writer.
        """
        self._what = f"cannot {verb} {path}"
        self._writer = os.getpid() if verb == "write" else None
        with self._named():
            try:
                super().__init__(path, "r" if verb == "read" else "r+", opener=_open)
            except ValueError as error:
                raise InputError(f"{self._what}: {error}") from None
        try:
            with self._named():
                if not stat.S_ISREG(os.fstat(self.fileno()).st_mode):
                    raise InputError(f"{self._what}: only a regular file can be a sequence")
                if verb == "write":
                    _written.add(self)
                    self._lock()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"{self._what}: {error.strerror or error}") from None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """A block that uses the file; InputError if it is closed, or the system cannot do it."""
        if self.closed:
            raise InputError(f"{self._what}: it is closed")
        if self.inherited:
            raise InputError(f"{self._what}: another process opened it; open it in this one")
        with self._named():
            yield

    @property
    def inherited(self) -> bool:
        """True in a process that was forked from the one that opened the file to write it."""
        return self._writer not in (None, os.getpid())

    def _lock(self) -> None:
        for _ in range(_LOCK_TRIES):
            if _flock(self.fileno(), fcntl.LOCK_EX) is not False:
                return
            time.sleep(_LOCK_PAUSE_S)
        raise InputError(f"{self._what}: another writer has it open; only one may write at a time")

    @contextmanager
    def without_writers(self) -> Iterator[bool | None]:
        """A short block in which nobody writes; False if somebody does, None if one cannot know."""
        alone = _flock(self.fileno(), fcntl.LOCK_SH)
        try:
            yield alone
        finally:
            if alone:
                fcntl.flock(self.fileno(), fcntl.LOCK_UN)

    def size(self) -> int:
        """Bytes of the file at present."""
        return os.fstat(self.fileno()).st_size

    def at(self, offset: int, size: int) -> bytes:
        """So many bytes, or as many as there are; the file's position plays no part.

        Threads, and processes after a fork, share the position.
        """
        parts = []
        while size and (part := os.pread(self.fileno(), min(size, _READ_BYTES), offset)):
            parts.append(part)
            offset, size = offset + len(part), size - len(part)
        return b"".join(parts)

    def write(self, data: Any, /) -> int:
        """Write all of it, which the system need not do at once."""
        rest = memoryview(data)
        while rest.nbytes:
            rest = rest[super().write(rest) :]
        return len(data)

    def finish(self) -> None:
        """Wait until the disk has everything, unlock and close."""
        try:
            with self.in_use():
                os.fsync(self.fileno())
        finally:
            if not (self.closed or self.inherited):  # a copy of the descriptor would keep the lock
                _flock(self.fileno(), fcntl.LOCK_UN)
            self.close()


def _open(path: str, flags: int) -> int:
    """Without waiting for the other end of a pipe."""
    flags |= os.O_NONBLOCK
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        if not flags & os.O_RDWR:
            raise
    descriptor = os.open(path, flags | os.O_CREAT, 0o666)
    try:
        sync_folder(Path(os.path.realpath(path)).parent)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _flock(descriptor: int, kind: int) -> bool | None:
    """Whether a lock was got; None if the file system has none."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


_written: WeakSet[SequenceFile] = WeakSet()


def _let_go() -> None:
    """In a forked process: it must neither write, nor keep files locked that its parent closes."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in _written:
        if not file.closed:
            os.dup2(nothing, file.fileno(), inheritable=False)
    os.close(nothing)


os.register_at_fork(after_in_child=_let_go)

"""Bytes of files, read when they are needed. Unlike mapped memory, a file may shrink meanwhile:
that is an error of one line, not the end of the process.
"""

import mmap
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from planezip.codec import engine
from planezip.codec.streaming import STEP_BYTES
from planezip.errors import InputError

Bytes = NDArray[np.uint8]


class Region:
    """The bytes from `start` to `stop` of an open file.

    Attributes:
        file: the file, whose position is not used.
        name: what messages call it.
        start: where the region begins in the file, bytes.
        nbytes: bytes of the region.
    """

    def __init__(self, file: BinaryIO, name: str, start: int, stop: int) -> None:
        self.file, self.name, self.start, self.nbytes = file, name, start, stop - start

    def __getitem__(self, part: slice) -> "Region":
        begin, end, _ = part.indices(self.nbytes)
        return Region(self.file, self.name, self.start + begin, self.start + max(begin, end))

    def tobytes(self) -> bytes:
        return self.read_into(np.empty(self.nbytes, np.uint8)).tobytes()

    def read_into(self, memory: Bytes) -> Bytes:
        """The whole region, in the front of memory that is large enough.

        Raises:
            InputError: the file cannot be read, or has become shorter.
        """
        out = memory[: self.nbytes]
        done = 0
        while done < self.nbytes:
            step = out[done : done + STEP_BYTES]
            try:
                count = os.preadv(self.file.fileno(), [step.data], self.start + done)
            except OSError as error:
                raise InputError(f"cannot read {self.name}: {error.strerror}") from None
            if not count:
                raise self._shorter()
            done += count
        return out

    def slices(self) -> Iterator[Bytes]:
        """The bytes in order, engine.SLICE_BYTES at a time, in memory that the next overwrites."""
        step = engine.SLICE_BYTES
        memory = np.empty(min(step, self.nbytes), np.uint8)
        for begin in range(0, self.nbytes, step):
            yield self[begin : begin + step].read_into(memory)

    def mapped(self) -> Bytes:
        """The region as memory, read-only. Should the file shrink, using it ends the process."""
        if not self.nbytes:
            return np.empty(0, np.uint8)
        lead = self.start % mmap.ALLOCATIONGRANULARITY
        size, start = lead + self.nbytes, self.start - lead
        try:
            memory = mmap.mmap(self.file.fileno(), size, access=mmap.ACCESS_READ, offset=start)
        except OSError as error:
            raise InputError(f"cannot read {self.name}: {error.strerror}") from None
        except ValueError:  # of a size that the file does not have
            raise self._shorter() from None
        return np.frombuffer(memory, np.uint8)[lead:]

    def _shorter(self) -> InputError:
        return InputError(
            f"cannot read {self.name}: it has become shorter; "
            "wait until nothing writes to it and try again"
        )


@contextmanager
def opened(path: Path) -> Iterator[Region]:
    """A whole file; of a pipe, what it gave, put aside on disk.

    Raises:
        InputError: it cannot be read.
    """
    with _refused(f"cannot read {path}"):
        file = path.open("rb")
    with file:
        about = os.fstat(file.fileno())
        if stat.S_ISREG(about.st_mode) and about.st_size:
            yield Region(file, str(path), 0, about.st_size)
            return
        with _refused(f"cannot keep what {path} gives"):
            aside = tempfile.TemporaryFile()  # noqa: SIM115 - open until the end
        with aside:  # of a pipe, or of a file whose size nobody knows
            _copy(file, aside, path)
            yield Region(aside, str(path), 0, aside.tell())


def _copy(file: BinaryIO, aside: BinaryIO, path: Path) -> None:
    part = b"at first"
    while part:
        with _refused(f"cannot read {path}"):
            part = file.read(STEP_BYTES)
        with _refused(f"cannot keep what {path} gives in {tempfile.gettempdir()}"):
            aside.write(part)
            aside.flush()


@contextmanager
def _refused(what: str) -> Iterator[None]:
    """Turns an OSError into an InputError that says what failed."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{what}: {error.strerror}") from None

"""What is to become tensors of a file, put aside on disk: their sizes are not known before."""

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

from planezip.errors import InputError

Bytes = NDArray[np.uint8]

ALIGNMENT = 64


class Pieces:
    """A nameless temporary file; what was added to it can be used as memory."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self._ends: list[tuple[int, int]] = []

    def end(self, size: int) -> None:
        """The last `size` bytes written to the file are a piece."""
        stop = self.file.tell()
        self._ends.append((stop - size, stop))
        self.file.write(bytes(ALIGNMENT - stop % ALIGNMENT))

    def mapped(self) -> list[Bytes]:
        """All pieces, in memory that the system loads and forgets as it likes."""
        self.file.flush()
        whole = map_file(self.file)
        return [whole[start:stop] for start, stop in self._ends]


@contextmanager
def pieces(folder: Path) -> Iterator[Pieces]:
    """Pieces in a folder, which are gone when the block or the process ends."""
    try:
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed below)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}") from None
    with file:
        yield Pieces(file)


def map_file(file: BinaryIO) -> Bytes:
    """A whole file as memory, read-only."""
    if not file.seek(0, 2):
        return np.empty(0, np.uint8)
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def map_path(path: Path) -> Bytes:
    """A whole file as memory, read-only: mapped, or read if it is a pipe. InputError if neither."""
    try:
        with path.open("rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return map_file(file)
            content = file.read()
            return np.frombuffer(content, np.uint8) if content else np.empty(0, np.uint8)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None

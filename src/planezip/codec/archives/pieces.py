"""What is to become tensors of a file, put aside on disk: their sizes are not known before."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from planezip.codec.archives.region import Bytes, Region


class Pieces:
    """A nameless temporary file, written piece by piece."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self._ends = [0]

    def end(self) -> Region:
        """What was written since the last end is a piece."""
        self.file.flush()
        self._ends.append(self.file.tell())
        return Region(self.file, "a temporary file", *self._ends[-2:])

    def mapped(self) -> list[Bytes]:
        """All pieces, in memory that the system loads and forgets as it likes."""
        whole = Region(self.file, "a temporary file", 0, self._ends[-1]).mapped()
        return [whole[a:b] for a, b in zip(self._ends, self._ends[1:], strict=False)]


@contextmanager
def pieces(folder: Path) -> Iterator[Pieces]:
    """Pieces in a folder, which are gone when the block or the process ends."""
    with tempfile.TemporaryFile(dir=folder) as file:
        yield Pieces(file)

"""Regions as files, for libraries that read files."""

import io
import os
from typing import Any, BinaryIO, cast

import numpy as np

from planezip.codec.archives.region import Region

_BUFFER_BYTES = 1 << 16


def as_file(region: Region) -> BinaryIO:
    """The region as a file to read; what fails is the InputError of the region, that names it."""
    return cast(BinaryIO, io.BufferedReader(_Reader(region), _BUFFER_BYTES))


class _Reader(io.RawIOBase):
    def __init__(self, region: Region) -> None:
        self._region, self._at = region, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._region.nbytes}[whence]
        if origin + offset < 0:
            raise ValueError(f"there is no byte {origin + offset}")
        self._at = origin + offset
        return self._at

    def readinto(self, memory: Any) -> int:
        out = np.frombuffer(memory, np.uint8)
        part = self._region[self._at : self._at + out.nbytes]
        part.read_into(out)
        self._at += part.nbytes
        return part.nbytes

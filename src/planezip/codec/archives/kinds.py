"""The kinds of archives, by the ends of their names."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from planezip.codec.archives import npy, npz, plain, safetensors
from planezip.codec.archives.region import Region
from planezip.codec.archives.settings import Progress, Settings
from planezip.codec.archives.streams import Stored

Convert = Callable[[Path, Path, Settings, Progress], int]
"""Reads a file, writes another, and returns the bytes that it read."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """How files become compressed ones, and back."""

    compress: Convert
    decompress: Convert


@dataclass(frozen=True, slots=True)
class Archive(Conversion):
    """The same of files of tensors, which `read` finds in an archive."""

    read: Callable[[Region], list[Stored]]


STREAM = Conversion(plain.compress, plain.decompress)
"""What any other file becomes."""

_KINDS = {
    ".safetensors": Archive(safetensors.compress, safetensors.decompress, safetensors.read),
    ".npz": Archive(npz.compress, npz.decompress, npz.read),
    ".npy": Archive(npy.compress, npy.decompress, npy.read),
}


def archive_of(path: Path) -> Archive | None:
    """The kind of a file of that name; None if it is not one of tensors."""
    return _KINDS.get(path.suffix)

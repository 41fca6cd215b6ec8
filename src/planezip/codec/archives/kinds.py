"""The kinds of archives, by the ends of their names."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from planezip.codec.archives import npy, npz, plain, safetensors
from planezip.codec.archives.settings import Progress, Settings

Convert = Callable[[Path, Path, Settings, Progress], int]
"""Reads a file, writes another, and returns the uncompressed bytes of the tensors."""


@dataclass(frozen=True, slots=True)
class Archive:
    """How files of a kind become archives, and back."""

    compress: Convert
    decompress: Convert


STREAM = Archive(plain.compress, plain.decompress)
"""What any other file becomes."""

_KINDS = {
    ".safetensors": Archive(safetensors.compress, safetensors.decompress),
    ".npz": Archive(npz.compress, npz.decompress),
    ".npy": Archive(npy.compress, npy.decompress),
}


def archive_of(path: Path) -> Archive | None:
    """The kind of a file of that name; None if it is not one of tensors."""
    return _KINDS.get(path.suffix)

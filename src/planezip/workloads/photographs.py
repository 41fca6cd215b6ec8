"""Training batches from photographs, randomly cropped and flipped (paper IV)."""

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from planezip.errors import InputError
from planezip.units import counted
from planezip.workloads.augment import flip_or_not, random_resized_crop
from planezip.workloads.workload import Batch

_SUFFIXES = frozenset({".jpg", ".jpeg", ".png"})
_SYNSET = re.compile(r"n\d{8}(?=_)")
# Mean and standard deviation of ImageNet's red, green and blue, as everybody normalises with.
_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


@dataclass(frozen=True)
class Photographs:
    """Batches of normalised FP32 images (size, 3, pixels, pixels) and int64 labels (size,).

    Every photograph is used once in each pass over all of them, in an order, crop and flip that
    depend on the seed and on the position in the sequence of all items alone.

    Attributes:
        files: the photographs.
        labels: class of each.
        seed: of order, crops and flips.
        pixels: side of the square crops.
        description: what they are, for people.
        fingerprint: changes when the batches would.
    """

    files: tuple[Path, ...]
    labels: tuple[int, ...]
    seed: int
    pixels: int
    description: str
    fingerprint: str

    @classmethod
    def from_folder(cls, folder: Path, seed: int, classes: int, pixels: int) -> "Photographs":
        """All JPEG and PNG files below a folder.

        Raises:
            InputError: the folder does not exist, holds no photograph, or cannot be read, itself
                or a folder below it.
        """
        found = _find(folder)
        files = tuple(sorted(found))
        if not files:
            raise InputError(f"no JPEG or PNG file in {folder}; give a folder of photographs")
        names = [p.relative_to(folder) for p in files]
        return cls(
            files,
            class_labels(names, classes),
            seed,
            pixels,
            f"{counted(len(files), 'photograph')} of {_printable_name(folder)}",
            _fingerprint(names, [found[p] for p in files], seed, pixels),
        )

    def batch(self, step: int, size: int) -> Batch:
        """The batch of a training step.

        Raises:
            InputError: a photograph cannot be read; the message names it.
        """
        images = np.empty((size, 3, self.pixels, self.pixels), np.float32)
        labels = np.empty(size, np.int64)
        for i in range(size):
            item = step * size + i
            chosen = self._order(item // len(self.files))[item % len(self.files)]
            random = np.random.default_rng([self.seed, 1, item])
            crop = random_resized_crop(_read(self.files[chosen]), self.pixels, random)
            pixels = np.asarray(flip_or_not(crop, random), np.float32) / 255
            images[i] = ((pixels - _MEAN) / _DEVIATION).transpose(2, 0, 1)
            labels[i] = self.labels[chosen]
        return torch.from_numpy(images), torch.from_numpy(labels)

    def _order(self, epoch: int) -> NDArray[np.int64]:
        return np.random.default_rng([self.seed, 0, epoch]).permutation(len(self.files))


def sample_photographs(seed: int, classes: int, pixels: int) -> Photographs:
    """The two photographs that scikit-learn ships."""
    from sklearn import datasets

    folder = Path(datasets.__file__).parent / "images"
    photographs = Photographs.from_folder(folder, seed, classes, pixels)
    return replace(photographs, description="the 2 sample photographs of scikit-learn")


def class_labels(names: list[Path], classes: int) -> tuple[int, ...]:
    """Class of every photograph from its path below the folder.

    The class is the rank of its ImageNet synset (n01440764_tench.JPEG) or else of its subfolder
    among those that occur; photographs that have neither are classes of their own, in the order of
    their names. Ranks beyond the number of classes start again from 0.
    """
    groups = [_group(name) for name in names]
    rank = {group: i for i, group in enumerate(sorted(set(groups)))}
    return tuple(rank[group] % classes for group in groups)


def _group(name: Path) -> str:
    synset = _SYNSET.match(name.name)
    if synset:
        return synset.group()
    return name.parent.as_posix() if len(name.parts) > 1 else name.name


def _find(folder: Path) -> dict[Path, os.stat_result]:
    """All files below a folder that are photographs by their names; InputError names the bad."""

    def refuse(error: OSError) -> NoReturn:
        raise InputError(
            f"cannot read {error.filename}: {error.strerror}; "
            "make it readable or give another folder of photographs"
        ) from None

    found: dict[Path, os.stat_result] = {}
    try:
        if not folder.is_dir():
            raise InputError(f"no folder {folder}; give one with JPEG or PNG files")
        for parent, _, names in os.walk(folder, onerror=refuse):
            for path in (Path(parent, n) for n in names if Path(n).suffix.lower() in _SUFFIXES):
                # A link that leads nowhere is no photograph.
                with suppress(FileNotFoundError):
                    found[path] = path.stat()
    except OSError as error:
        refuse(error)
    return {path: stat for path, stat in found.items() if S_ISREG(stat.st_mode)}


def _printable_name(folder: Path) -> str:
    """Name of the folder; what is no text in it is replaced, so that records can say it."""
    return os.fsencode(folder.resolve().name).decode(errors="replace")


def _fingerprint(names: list[Path], stats: list[os.stat_result], seed: int, pixels: int) -> str:
    listing = [(n.as_posix(), s.st_size, s.st_mtime_ns) for n, s in zip(names, stats, strict=True)]
    return hashlib.sha256(repr((listing, seed, pixels)).encode()).hexdigest()


@lru_cache(maxsize=8)
def _read(path: Path) -> Image.Image:
    """The decoded photograph in RGB."""
    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except Exception as error:  # decoders raise whatever a damaged file leads them to
        raise InputError(f"cannot read the photograph {path}: {error}; remove it") from None

"""Progress of a warm-up as files that survive an interruption."""

import hashlib
import io
import os
import pickle
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from planezip.errors import InputError
from planezip.records import write_atomically


@dataclass(frozen=True)
class Progress:
    """Training after a number of steps.

    Attributes:
        losses: of every step so far.
        model, optimizer: their state dictionaries.
    """

    losses: tuple[float, ...]
    model: dict[str, Any]
    optimizer: dict[str, Any]


class Checkpoints:
    """The checkpoints of one training run, which everything that decides its course identifies.

    Files are called `<model>-<digest of the identity>-<steps>.pt`.
    """

    def __init__(self, folder: Path, model: str, identity: object) -> None:
        digest = hashlib.sha256(repr(identity).encode()).hexdigest()[:16]
        self._folder, self._stem = folder, f"{model}-{digest}"

    def path(self, steps: int) -> Path:
        return self._folder / f"{self._stem}-{steps}.pt"

    def save(self, progress: Progress) -> None:
        """Write atomically; InputError if the folder cannot be written."""
        data = io.BytesIO()
        parts = {"model": progress.model, "optimizer": progress.optimizer}
        torch.save({"losses": list(progress.losses), **parts}, data)
        write_atomically(self.path(len(progress.losses)), data.getvalue())

    def discard(self, steps: int) -> None:
        """Remove the checkpoint after so many steps, if there is one."""
        self.path(steps).unlink(missing_ok=True)

    def latest(self, limit: int) -> tuple[Progress | None, tuple[str, ...]]:
        """The one with most steps, at most `limit`, and a note on every one that is damaged."""
        notes: list[str] = []
        pattern = re.compile(re.escape(self._stem) + r"-(\d+)\.pt")
        names = os.listdir(self._folder) if self._folder.is_dir() else []
        steps = [int(m[1]) for m in map(pattern.fullmatch, names) if m]
        for count in sorted((s for s in steps if s <= limit), reverse=True):
            progress = _read(self.path(count), count)
            if progress:
                return progress, tuple(notes)
            notes.append(f"ignored the damaged warm-up checkpoint {self.path(count).name}")
        return None, tuple(notes)


def cache_folder() -> Path:
    """Where warm-up checkpoints are kept: $XDG_CACHE_HOME/planezip/warmup or under ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "planezip" / "warmup"


def _read(path: Path, steps: int) -> Progress | None:
    """The checkpoint, None if it cannot be read or is not of so many steps."""
    try:
        held = torch.load(path, weights_only=True)
        progress = Progress(tuple(map(float, held["losses"])), held["model"], held["optimizer"])
    except (OSError, EOFError, RuntimeError, ValueError, TypeError, KeyError, InputError):
        return None
    except (pickle.UnpicklingError, zipfile.BadZipFile):
        return None
    return progress if len(progress.losses) == steps else None

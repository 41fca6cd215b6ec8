"""Progress of a warm-up as files that survive an interruption."""

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path

import torch

from planezip.errors import InputError
from planezip.records import write_atomically
from planezip.workloads.progress import Progress


class Checkpoints:
    """The checkpoints of one training run, which everything that decides its course identifies.

    Files are called `<model>-<digest of the identity>-<steps>.pt`, with a step at least, and hold
    what `Progress.write` writes.
    """

    def __init__(self, folder: Path, model: str, identity: object) -> None:
        digest = hashlib.sha256(repr(identity).encode()).hexdigest()[:16]
        self._folder, self._stem = folder, f"{model}-{digest}"

    def path(self, steps: int) -> Path:
        return self._folder / f"{self._stem}-{steps}.pt"

    def save(self, progress: Progress) -> None:
        """Write atomically; InputError if the folder cannot be written, or no file be there."""
        path = self.path(len(progress.losses))
        if path.exists() and not path.is_file():
            # A pipe would be written to directly, and waited for.
            raise InputError(f"cannot write {path}: it is no regular file; remove it")
        write_atomically(path, progress.write)

    def discard(self, steps: int) -> None:
        """Remove the checkpoint after so many steps, if there is one that can be removed."""
        with suppress(OSError):
            self.path(steps).unlink()

    def resume(
        self, limit: int, model: torch.nn.Module, optimizer: torch.optim.Optimizer
    ) -> tuple[list[float], list[str]]:
        """Put both where the checkpoint with most steps, at most `limit`, left them.

        A checkpoint that is damaged or does not fit is passed over for the next one.

        Returns:
            The losses of the steps done, none if no checkpoint is usable, both then untouched;
            and a note on every checkpoint that was passed over.

        Raises:
            InputError: the folder cannot be read.
        """
        notes: list[str] = []
        for steps in sorted((s for s in self._steps() if s <= limit), reverse=True):
            progress = _read(self.path(steps))
            fits = progress is not None and len(progress.losses) == steps
            if progress and fits and progress.restore(model, optimizer):
                return list(progress.losses), notes
            notes.append(f"ignored the damaged warm-up checkpoint {self.path(steps).name}")
        return [], notes

    def _steps(self) -> list[int]:
        """Steps of all checkpoints that there are."""
        try:
            names = os.listdir(self._folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise InputError(f"cannot read the folder {self._folder}: {error.strerror}") from None
        pattern = re.compile(re.escape(self._stem) + r"-([1-9][0-9]*)\.pt")
        return [int(m[1]) for m in map(pattern.fullmatch, names) if m]


def cache_folder() -> Path | None:
    """Where warm-up checkpoints are kept: $XDG_CACHE_HOME/planezip/warmup or under ~/.cache.

    None if neither that variable is set nor the user has a home folder.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "planezip" / "warmup"
    except RuntimeError:
        return None


def _read(path: Path) -> Progress | None:
    try:
        # A pipe of that name would be waited for.
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return Progress.read(file)
    except OSError:
        return None

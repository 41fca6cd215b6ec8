"""Files that are replaced whole: whoever reads, and whenever the power fails, finds old or new."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planezip.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new, empty file to fill, which then takes the place of `path`.

    It lies in the same folder under a hidden name. When the block ends, it is written to the disk,
    renamed, and the folder is written to the disk; if the block fails, it is removed. A process
    that is killed leaves it behind; `path` is never anything but the old file or the new one. A
    symbolic link is followed, what it leads to is replaced; permissions are handed on.

    Raises:
        InputError: the file cannot be written there; the message says why.
    """
    target = Path(os.path.realpath(path))
    temporary = target.parent / f".planezip-{secrets.token_hex(8)}"
    try:
        if target.exists() and not target.is_file():
            raise InputError(f"cannot write {path}: only a regular file can be replaced")
        target.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        mode = (target if target.exists() else temporary).stat().st_mode
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    try:
        yield temporary
        temporary.chmod(mode)  # whoever filled it may have replaced it
        _sync(temporary, os.O_RDWR)
        os.replace(temporary, target)
        sync_folder(target.parent)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"cannot write {path}: {error.strerror or error}") from None
        raise


def sync_folder(path: Path) -> None:
    """Wait until the disk knows the names in a folder."""
    _sync(path, os.O_RDONLY)


def _sync(path: Path, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Files that are replaced whole: whoever reads, and whenever the power fails, finds old or new."""

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from xxhash import xxh32_hexdigest

from planezip.codec.interruptible import interruptible
from planezip.errors import InputError

_PERMISSIONS = 0o777


@contextmanager
def replacing(path: Path, source: Path | None = None) -> Iterator[Path]:
    """A new, empty file to fill, in a hidden folder; it then takes the place of `path`.

    The folder lies beside the target, and only its owner can read in it; whatever else is put
    there goes with it. When the block ends, the file is written to the disk, renamed, and the
    target's folder is written to the disk. If the block fails, the hidden folder is removed. A
    process that is killed leaves it behind, and the next one that replaces the same file removes
    it; `path` is never anything but the old file or the new one. A symbolic link is followed, what
    it leads to is replaced.

    A replaced file hands on its permissions, a new one has the usual ones; both lose those that
    `source` does not grant.

    Raises:
        InputError: the file cannot be written there; the message says why.
    """
    target = Path(os.path.realpath(path))
    try:
        before = mode_of(target)
        if before is not None and not stat.S_ISREG(before):
            raise InputError(f"cannot write {path}: only a regular file can be replaced")
        target.parent.mkdir(parents=True, exist_ok=True)
        with _hidden_folder(target) as folder:
            temporary = folder / "new"
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            mode = _mode(temporary if before is None else target, source)
            yield temporary
            _sync(temporary, mode)  # whoever filled it may have replaced it
            os.replace(temporary, target)
            sync_folder(target.parent)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def mode_of(path: Path) -> int | None:
    """Type and permissions of what is there, at the end of all links; None if nothing is.

    Raises:
        OSError: nobody can be there, or this user may not know.
    """
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def sync_folder(path: Path) -> None:
    """Wait until the disk knows the names in a folder."""
    _sync(path)


def _sync(path: Path, mode: int | None = None) -> None:
    descriptor = os.open(path, os.O_RDONLY)  # before the permissions may forbid it

    def sync() -> None:
        try:
            if mode is not None:
                os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    interruptible(sync)


def _mode(like: Path, source: Path | None) -> int:
    """The permissions of a file, but none that the source does not grant."""
    mode = like.stat().st_mode & _PERMISSIONS
    if source is None or not source.is_file():
        return mode
    origin = source.stat()
    if origin.st_gid != like.stat().st_gid:  # another group may do only what everybody may
        mode &= ~stat.S_IRWXG | (origin.st_mode & stat.S_IRWXO) << 3
    return mode & origin.st_mode


@contextmanager
def _hidden_folder(target: Path) -> Iterator[Path]:
    """A folder beside the target, locked until the block or the process ends."""
    prefix = f".planezip-{xxh32_hexdigest(os.fsencode(target.name))}-"
    for stale in target.parent.glob(f"{prefix}*"):
        with suppress(OSError), _locked(stale) as locked:
            if locked:
                shutil.rmtree(stale)
    while True:
        folder = target.parent / f"{prefix}{secrets.token_hex(8)}"
        folder.mkdir(stat.S_IRWXU)
        with _locked(folder) as locked:
            if locked is False:  # another process found it before it was locked, and removed it
                continue
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return


@contextmanager
def _locked(folder: Path) -> Iterator[bool | None]:
    """Whether this process has locked a folder, that is there; None if the file system cannot."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        yield False
        return
    try:
        yield _lock(descriptor) and folder.exists()
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True

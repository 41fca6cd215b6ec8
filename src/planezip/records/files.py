"""Files that are whole or absent: what is being written never stands under its final name."""

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from planezip.errors import InputError

_PERMISSIONS = 0o777


Content = bytes | Callable[[BinaryIO], object]
"""What a file is to hold, or what writes it there, piece by piece."""


def write_atomically(path: str | Path, data: Content) -> None:
    """Write through a temporary file and a rename, so that a partial file never replaces a whole.

    A symbolic link is followed, what it leads to is replaced; a replaced file hands on its
    permissions. Devices, pipes and the like cannot be replaced and are written to directly.

    Raises:
        InputError: the folder cannot be made or the file cannot be written there.
    """
    write_together({Path(path): data})


def write_together(files: Mapping[Path, Content]) -> None:
    """Like `write_atomically` for files that belong together: nothing appears before all can.

    Raises:
        InputError: names the first file that cannot be written; nothing was replaced by then,
            unless the renaming itself failed.
    """
    written: list[_Written] = []
    folders: list[Path] = []
    try:
        for path, data in files.items():
            with _named(path):
                written.append(_Written(path, data, folders))
        for file in sorted(written, key=lambda file: file.replaces):  # devices can still fail
            with _named(file.path):
                file.appear()
    except BaseException:
        for file in written:
            file.vanish()
        remove_empty(folders)
        raise


def refuse_waiting(path: str | Path) -> None:
    """InputError if reading would wait for another program to write into a pipe of this name.

    Pipes that the caller's own shell made have their names in /dev or /proc and are open already.
    """
    mode = _mode(Path(path))
    if mode is None or stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return
    names = (os.path.abspath(path), os.path.realpath(path))
    if not any(name.startswith(("/dev/", "/proc/")) for name in names):
        raise InputError(f"cannot read {path}: it is no regular file; replace it, or name another")


class _Written:
    """The content of one file, on disk under a temporary name beside the final one."""

    def __init__(self, path: Path, data: Content, folders: list[Path]) -> None:
        self.path, self._data = path, data
        self._temporary: Path | None = None
        self._target = path
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if mode is None or stat.S_ISREG(mode):
            # Even a link to nowhere: the file that it names is the one to write.
            self._target = Path(os.path.realpath(path))
            if mode is not None and not os.access(self._target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            make_folder(self._target.parent, folders)
            self._write_beside(0o666 & ~_umask() if mode is None else mode & _PERMISSIONS)

    def _write_beside(self, permissions: int) -> None:
        # A name of its own, since the final one may be as long as a name can be.
        descriptor, name = tempfile.mkstemp(dir=self._target.parent, prefix=".planezip-")
        self._temporary = Path(name)
        try:
            with os.fdopen(descriptor, "w+b") as file:
                self._fill(file)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, permissions)
        except BaseException:
            self.vanish()
            raise

    @property
    def replaces(self) -> bool:
        """Whether it appears by a renaming; what is no regular file is written to."""
        return self._temporary is not None

    def appear(self) -> None:
        if self._temporary:
            os.replace(self._temporary, self._target)
            self._temporary = None
        else:
            with open(os.open(self.path, os.O_WRONLY), "wb") as device:
                self._fill(device)

    def _fill(self, file: BinaryIO) -> None:
        if callable(self._data):
            self._data(file)
        else:
            file.write(self._data)

    def vanish(self) -> None:
        if self._temporary:
            self._temporary.unlink(missing_ok=True)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turns an OSError into an InputError that names the file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def _mode(path: Path) -> int | None:
    """Type and permissions of what is there, at the end of all links; None if nothing is."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def make_folder(folder: Path, made: list[Path]) -> None:
    """Make the folder and those that it lies in; the new ones are added to `made`, outer first."""
    made += reversed([f for f in (folder, *folder.parents) if not f.exists()])
    folder.mkdir(parents=True, exist_ok=True)


def remove_empty(folders: list[Path]) -> None:
    """Remove those that hold nothing, inner ones first."""
    for folder in reversed(folders):
        with suppress(OSError):  # someone else may have put something there
            folder.rmdir()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""Input and output files of the commands: whole or absent, never overwritten by accident."""

import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from planezip.errors import CorruptStreamError, InputError
from planezip.report.printable import printable

if TYPE_CHECKING:
    from planezip.codec.archives.settings import Progress, Settings
    from planezip.codec.streaming import Advance


def refuse_to_overwrite(path: Path, force: bool) -> None:
    """InputError if `path` exists and `force` is off, or if it is no regular file."""
    from planezip.codec.durable import mode_of

    _refuse_dash("write", path)
    try:
        mode = mode_of(path)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}; name another file with -o"
        ) from None
    if mode is None:
        return
    if stat.S_ISDIR(mode):
        raise InputError(f"cannot write {path}: it is a folder; name a file with -o")
    if not stat.S_ISREG(mode):
        raise InputError(f"cannot write {path}: only a regular file can be replaced")
    if not force:
        raise InputError(f"{path} exists; use --force to replace it or -o to write elsewhere")


def convert(
    verb: str,
    conversion: Callable[..., int],
    source: Path,
    target: Path,
    settings: "Settings",
    force: bool,
) -> tuple[int, int]:
    """Make one file of another, whole or not at all, and show progress on a terminal.

    Returns:
        Bytes of the source and of the target.

    Raises:
        InputError: the source cannot be read or is damaged, or the target cannot be written.
    """
    from planezip.codec.durable import replacing

    _check_readable(source)
    refuse_to_overwrite(target, force)
    with replacing(target, source) as temporary:
        try:
            progress = _progress(f"{verb}ing {source.name}", f"writing {target.name}")
            source_bytes = conversion(source, temporary, settings, progress)
        except CorruptStreamError as error:
            raise InputError(f"cannot {verb} {source}: {error}") from None
        target_bytes = temporary.stat().st_size
        refuse_to_overwrite(target, force)
    return source_bytes, target_bytes


def _refuse_dash(verb: str, path: Path) -> None:
    if str(path) == "-":
        raise InputError(f"cannot {verb} -: name a file; /dev/stdin can be compressed, to -o FILE")


def _check_readable(path: Path) -> None:
    _refuse_dash("read", path)
    try:
        if not stat.S_ISFIFO(path.stat().st_mode):  # what is written into one can be read once
            path.open("rb").close()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def _progress(converting: str, writing_target: str) -> "Progress":
    """Bars of bytes on a terminal, nothing elsewhere."""

    @contextmanager
    def begin(total: int, writing: bool = False) -> "Iterator[Advance]":
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        console = Console(stderr=True, highlight=False)
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
        speed = (TransferSpeedColumn(), TimeRemainingColumn())
        hidden = not console.is_terminal
        with Progress(*columns, *speed, console=console, disable=hidden, transient=True) as bar:
            title = printable(writing_target if writing else converting)
            task = bar.add_task(title, total=total)
            yield lambda done: bar.advance(task, done)

    return begin

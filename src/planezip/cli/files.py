"""Input and output files of the commands: whole or absent, never overwritten by accident."""

from pathlib import Path

from planezip.errors import InputError
from planezip.records import write_atomically


def read_bytes(path: Path) -> bytes:
    """The content of a file; InputError names the file and why it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def refuse_to_overwrite(path: Path, force: bool) -> None:
    """InputError if `path` exists and `force` is off, or if it is a folder."""
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; name a file with -o")
    if path.exists() and not force:
        raise InputError(f"{path} exists; use --force to replace it or -o to write elsewhere")


def write(path: Path, data: bytes, force: bool) -> None:
    """Write atomically, unless that would overwrite a file without `force`."""
    refuse_to_overwrite(path, force)
    write_atomically(path, data)

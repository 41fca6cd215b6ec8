"""Records as JSON files: validated when read, whole or absent when written."""

import gzip
import os
import tempfile
import zlib
from pathlib import Path
from typing import TypeVar

import msgspec

from planezip.errors import InputError

T = TypeVar("T")


def to_json(record: object) -> bytes:
    """The record as UTF-8 JSON."""
    return msgspec.json.encode(record)


def from_json(data: bytes, kind: type[T], name: str) -> T:
    """Decode and validate; InputError names `name` and the first field that is wrong."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{name} is not a valid {kind.__name__} file: {error}") from None


def load(path: str | Path, kind: type[T]) -> T:
    """Read a record; a name that ends in .gz is compressed. InputError if unreadable or invalid."""
    path = Path(path)
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "damaged gzip"
        raise InputError(f"cannot read {path}: {reason}") from None
    return from_json(data, kind, str(path))


def save(path: str | Path, record: object) -> None:
    """Write a record; a name that ends in .gz is compressed, reproducibly."""
    data = to_json(record)
    if Path(path).suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    write_atomically(path, data)


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write through a temporary file and a rename, so that a partial file never replaces a whole.

    Raises:
        InputError: the folder cannot be made or the file cannot be written there.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"cannot write {path}: {error.strerror}") from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

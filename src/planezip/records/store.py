"""Records as JSON files: validated when read, whole or absent when written."""

import gzip
import zlib
from pathlib import Path
from typing import TypeVar

import msgspec

from planezip.errors import InputError
from planezip.records.files import write_atomically
from planezip.records.validation import validate

T = TypeVar("T")

_GZIP_MAGIC = b"\x1f\x8b"


def to_json(record: object) -> bytes:
    """The record as UTF-8 JSON."""
    return msgspec.json.encode(record)


def from_json(data: bytes, kind: type[T], name: str) -> T:
    """Decode and validate; InputError names `name` and the first thing that is wrong."""
    try:
        record = msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{name} is not a valid {kind.__name__} file: {error}") from None
    try:
        validate(record)
    except InputError as error:
        raise InputError(f"{name} is damaged: {error}") from None
    return record


def load(path: str | Path, kind: type[T]) -> T:
    """Read a record, compressed by gzip or not; InputError if unreadable or invalid."""
    try:
        data = Path(path).read_bytes()
        if data.startswith(_GZIP_MAGIC):
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

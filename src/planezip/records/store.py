"""Records as JSON files: validated when read, whole or absent when written."""

import gzip
import io
import zlib
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from planezip.errors import InputError
from planezip.records.files import refuse_waiting, write_atomically
from planezip.records.validation import validate
from planezip.units import MIB

T = TypeVar("T")

_GZIP_MAGIC = b"\x1f\x8b"

MOST_RECORD_BYTES = 256 * MIB
"""No record is larger as JSON; those of the usual models take less than a thousandth of it."""


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
    """Read a record, compressed by gzip or not; InputError if unreadable or invalid.

    What is no regular file is refused, unless the shell made it, such as /dev/stdin.
    """
    try:
        refuse_waiting(path)
        with open(path, "rb") as file:
            return from_json(read_json(file, str(path)), kind, str(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def read_json(file: BinaryIO, name: str) -> bytes:
    """What a file holds, not yet decoded, compressed by gzip or not.

    However much a forged file would become, it takes no more memory than the largest record.

    Raises:
        InputError: names the file if it is damaged, or larger than any record.
        OSError: it cannot be read.
    """
    data = file.read(MOST_RECORD_BYTES + 1)
    if data.startswith(_GZIP_MAGIC):
        try:
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MOST_RECORD_BYTES + 1)
        except (OSError, EOFError, zlib.error):
            raise InputError(f"cannot read {name}: damaged gzip") from None
    _check_size(data, name)
    return data


def save(path: str | Path, record: object) -> None:
    """Write a record; a name that ends in .gz is compressed, reproducibly.

    Raises:
        InputError: the file cannot be written, or would be larger than `load` reads.
    """
    write_atomically(path, file_bytes(path, record))


def file_bytes(path: str | Path, record: object) -> bytes:
    """What `save` writes there, for files that are written together; InputError if too large."""
    data = to_json(record)
    _check_size(data, f"what would become {path}")
    return gzip.compress(data, mtime=0) if Path(path).suffix == ".gz" else data


def _check_size(data: bytes, name: str) -> None:
    if len(data) > MOST_RECORD_BYTES:
        raise InputError(
            f"{name} is larger than any trace, capture, plan or timeline may be: "
            f"more than {MOST_RECORD_BYTES // MIB} MiB"
        )

"""Zip files: what is wrong with one is a CorruptStreamError, whatever Python calls it."""

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from planezip.codec.archives.reader import as_file
from planezip.codec.archives.region import Region
from planezip.errors import CorruptStreamError, InputError

_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError),
    *(RuntimeError, ValueError, KeyError, OverflowError),
)
_LOCAL_HEADER = struct.Struct("<26xHH")  # bytes of the name and of the extra fields behind it


@contextmanager
def unzipped(file: Region) -> Iterator[zipfile.ZipFile]:
    """A zip file to read."""
    try:
        with as_file(file) as reader, zipfile.ZipFile(reader) as zipped:
            yield zipped
    except (CorruptStreamError, InputError):
        raise
    except OSError as error:
        if error.errno is not None:  # the system's, of what is written meanwhile
            raise
        raise CorruptStreamError(f"not a whole zip file: {error}") from None  # bzip2's
    except _DAMAGE as error:
        raise CorruptStreamError(
            f"not a whole zip file: {str(error) or 'it ends too early'}"
        ) from None


def zip_members(zipped: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Members by name; CorruptStreamError if a name occurs twice or cannot be written again."""
    members = {info.filename: info for info in zipped.infolist()}
    if len(members) != len(zipped.infolist()):
        raise CorruptStreamError("two members of the zip file have the same name")
    for name, info in members.items():
        if info.orig_filename != name:
            raise CorruptStreamError(f"a member has the impossible name {info.orig_filename!r}")
    return members


def stored_member(file: Region, zipped: zipfile.ZipFile, info: zipfile.ZipInfo) -> Region:
    """The content of a member that is not deflated, where it is.

    Its checksum in the zip file is not compared: streams and manifests have their own.
    """
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise CorruptStreamError(f"member {info.filename!r} is deflated; no archive's is")
    zipped.open(info).close()  # checks what stands before the content
    begin = info.header_offset + _LOCAL_HEADER.size
    name_bytes, extra_bytes = _LOCAL_HEADER.unpack(file[info.header_offset : begin].tobytes())
    begin += name_bytes + extra_bytes
    content = file[begin : begin + info.file_size]
    if content.nbytes != info.file_size:
        raise CorruptStreamError(f"member {info.filename!r} goes past the end of the file")
    return content


def new_member(out: zipfile.ZipFile, name: str, deflated: bool) -> BinaryIO:
    """A member to write to. All get the same date, so that equal input makes equal files."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
    member: BinaryIO = out.open(info, "w", force_zip64=True)  # type: ignore[assignment]
    return member

"""Archives that are .npz files: a manifest, and members that are arrays of a stream's bytes."""

import errno
import lzma
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from planezip.codec.archives import manifest, npy_file
from planezip.codec.archives.manifest import KEY, Bytes, Entry, Manifest, RawHash
from planezip.codec.archives.pieces import Pieces, pieces
from planezip.codec.archives.restoring import restore_into
from planezip.codec.archives.settings import Progress, Settings
from planezip.codec.streaming import Advance, write_stream
from planezip.errors import CorruptStreamError, InputError

MEMBER = f"{KEY}.json"
_COPY_BYTES = 1 << 20
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError),
    *(RuntimeError, ValueError, KeyError, OverflowError),
)


def compress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write an archive of an .npz or other zip file; return the bytes of its arrays."""
    with _opened(source) as zipped, zipfile.ZipFile(target, "w") as out:
        members = _members(zipped)
        if MEMBER in members:
            raise InputError(f"{source} is a PlaneZip archive already")
        total = sum(info.file_size for info in members.values())
        with progress(total) as advance:
            entries = {
                name: _compress_member(zipped, info, out, target.parent, settings, advance)
                for name, info in members.items()
            }
        with _member(out, MEMBER, False) as member:
            member.write(manifest.to_json(Manifest(entries)))
    return total


def _compress_member(
    zipped: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    out: zipfile.ZipFile,
    folder: Path,
    settings: Settings,
    advance: Advance,
) -> Entry:
    with pieces(folder) as aside, pieces(folder) as stream:
        array = npy_file.parse(_extracted(zipped, info, aside))
        bits = settings.symbol_bits or array.symbol_bits
        size = write_stream(
            stream.file, array.data.data, settings.codec, bits, settings.threads, advance
        )
        stream.end(size)
        with _member(out, info.filename, False) as member:
            npy_file.write_header(member, "|u1", (size,), False)
            member.write(stream.mapped()[0].data)
        digest = RawHash().update(array.data).hexdigest()
    deflated = info.compress_type != zipfile.ZIP_STORED
    return Entry(array.dtype, array.shape, digest, array.fortran_order, deflated)


def decompress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write the .npz file that an archive was made of; return the bytes of its arrays.

    Raises:
        CorruptStreamError: the archive is damaged.
    """
    total = 0
    with (
        _opened(source) as zipped,
        zipfile.ZipFile(target, "w") as out,
        progress(None) as advance,
    ):
        for name, entry, stream in _streams(zipped, target.parent):
            with _member(out, name, entry.deflated) as member:
                if entry.dtype:
                    npy_file.write_header(member, entry.dtype, entry.shape, entry.fortran_order)
                size = restore_into(member, name, entry, stream, settings.threads, advance)
            npy_file.check_size(name, entry, size)
            total += size
    return total


def read(source: Path, folder: Path) -> Iterator[tuple[str, Entry, Bytes]]:
    """Name, what the manifest says, and stream of every member, put aside in a folder.

    Raises:
        CorruptStreamError: the file is no archive, or damaged.
    """
    with _opened(source) as zipped:
        yield from _streams(zipped, folder)


def _streams(zipped: zipfile.ZipFile, folder: Path) -> Iterator[tuple[str, Entry, Bytes]]:
    members = _members(zipped)
    about = members.pop(MEMBER, None)
    if about is None:
        raise CorruptStreamError("a zip file, but no PlaneZip archive")
    for info in (about, *members.values()):
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise CorruptStreamError(f"member {info.filename!r} is deflated; no archive's is")
    for name, entry in manifest.from_json(zipped.read(about), members).tensors.items():
        with pieces(folder) as aside:
            yield name, entry, npy_file.parse(_extracted(zipped, members[name], aside)).data


def _members(zipped: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    members = {info.filename: info for info in zipped.infolist() if not info.is_dir()}
    if len(members) != sum(not info.is_dir() for info in zipped.infolist()):
        raise CorruptStreamError("two members of the zip file have the same name")
    return members


def _extracted(zipped: zipfile.ZipFile, info: zipfile.ZipInfo, aside: Pieces) -> Bytes:
    """The content of a member, put aside."""
    start = aside.file.tell()
    with zipped.open(info) as member:
        shutil.copyfileobj(member, aside.file, _COPY_BYTES)
    size = aside.file.tell() - start
    if size != info.file_size:
        raise CorruptStreamError(
            f"member {info.filename!r} has {size} bytes, the zip file says {info.file_size}"
        )
    aside.end(size)
    return aside.mapped()[0]


def _member(out: zipfile.ZipFile, name: str, deflated: bool) -> BinaryIO:
    """A member to write to. All get the same date, so that equal input makes equal files."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
    member: BinaryIO = out.open(info, "w", force_zip64=True)  # type: ignore[assignment]
    return member


@contextmanager
def _opened(source: Path) -> Iterator[zipfile.ZipFile]:
    """A zip file to read; whatever is wrong with it is a CorruptStreamError."""
    try:
        file = source.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {source}: {error.strerror}") from None
    with file:
        try:
            with zipfile.ZipFile(file) as zipped:
                yield zipped
        except (CorruptStreamError, InputError):
            raise
        except OSError as error:
            if error.errno != errno.EINVAL:  # of an impossible offset
                raise
            raise CorruptStreamError("not a whole zip file: it names impossible offsets") from None
        except _DAMAGE as error:
            raise CorruptStreamError(f"not a whole zip file: {error}") from None

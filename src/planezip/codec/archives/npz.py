"""Archives that are .npz files: a manifest, and members that are arrays of a stream's bytes."""

import shutil
import zipfile
from pathlib import Path

from planezip.codec.archives import manifest, npy_file, streams
from planezip.codec.archives.manifest import KEY, Entry
from planezip.codec.archives.names import escaped, unescaped
from planezip.codec.archives.pieces import Pieces, pieces
from planezip.codec.archives.region import Region, opened
from planezip.codec.archives.settings import Progress, Settings
from planezip.codec.archives.streams import Stored
from planezip.codec.archives.zip_file import new_member, stored_member, unzipped, zip_members
from planezip.codec.streaming import STEP_BYTES, Advance, write_bytes
from planezip.errors import CorruptStreamError

MEMBER = f"{KEY}.json"


def compress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write an archive of an .npz or other zip file; return the bytes read."""
    with opened(source) as file, unzipped(file) as zipped, zipfile.ZipFile(target, "w") as out:
        manifest.refuse_archives(source, lambda: _read(file, zipped))
        members = zip_members(zipped)
        total = sum(info.file_size for info in members.values())
        with progress(total) as advance:
            entries = {
                name: _compress_member(zipped, info, out, target.parent, settings, advance)
                for name, info in members.items()
            }
        with new_member(out, MEMBER, False) as member:
            member.write(manifest.to_json(entries))
        return file.nbytes


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
        advance(info.file_size - array.data.nbytes)
        digest = streams.write(stream.file, array.data, array.symbol_bits, settings, advance)
        packed = stream.end()
        with new_member(out, escaped(info.filename, MEMBER), False) as member:
            npy_file.write_header(member, "|u1", (packed.nbytes,), False)
            for part in packed.slices():
                write_bytes(member, part)
    deflated = info.compress_type != zipfile.ZIP_STORED
    return Entry(array.dtype, array.shape, digest, array.fortran_order, deflated)


def _extracted(zipped: zipfile.ZipFile, info: zipfile.ZipInfo, aside: Pieces) -> Region:
    """The content of a member, put aside; its checksum in the zip file is compared."""
    with zipped.open(info) as member:
        shutil.copyfileobj(member, aside.file, STEP_BYTES)
    content = aside.end()
    if content.nbytes != info.file_size:
        raise CorruptStreamError(
            f"member {info.filename!r} has {content.nbytes} bytes, "
            f"the zip file says {info.file_size}"
        )
    return content


def decompress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write the .npz file that an archive was made of; return the bytes read.

    Raises:
        CorruptStreamError: the archive is damaged.
    """
    with opened(source) as file:
        tensors = read(file)
        total = sum(stored.byte_length for stored in tensors)
        with progress(total) as advance, zipfile.ZipFile(target, "w") as out:
            for stored in tensors:
                entry = stored.entry
                with new_member(out, stored.name, entry.deflated) as member:
                    if entry.dtype:
                        npy_file.write_header(member, entry.dtype, entry.shape, entry.fortran_order)
                    stored.restore_into(member, settings.threads, advance)
        return file.nbytes


def read(file: Region) -> list[Stored]:
    """Every member; CorruptStreamError if the file is no archive, or damaged."""
    with unzipped(file) as zipped:
        return _read(file, zipped)


def _read(file: Region, zipped: zipfile.ZipFile) -> list[Stored]:
    members = zip_members(zipped)
    about = members.pop(MEMBER, None)
    if about is None:
        raise CorruptStreamError("a zip file, but no PlaneZip archive")
    originals = {unescaped(name, MEMBER): info for name, info in members.items()}
    text = stored_member(file, zipped, about).tobytes()
    entries, _ = manifest.from_json(text, originals)
    return [
        Stored(
            name,
            entry,
            npy_file.entry_bytes(name, entry),
            npy_file.parse(stored_member(file, zipped, originals[name])).data,
        )
        for name, entry in entries.items()
    ]

"""Archives that are .npy files: an array of bytes, which are a stream and its manifest.

Behind the stream stand the manifest and, in the last eight bytes, the manifest's size.
"""

from pathlib import Path

from planezip.codec.archives import manifest, npy_file, streams
from planezip.codec.archives.manifest import KEY, Entry
from planezip.codec.archives.pieces import pieces
from planezip.codec.archives.region import Region, opened
from planezip.codec.archives.settings import Progress, Settings
from planezip.codec.archives.streams import Stored
from planezip.codec.streaming import write_bytes
from planezip.errors import CorruptStreamError

_SIZE_BYTES = 8
_MAX_MANIFEST_BYTES = 1 << 16


def compress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write an archive of a .npy file; return the bytes read."""
    with opened(source) as file, pieces(target.parent) as aside:
        manifest.refuse_archives(source, lambda: _stored(file))
        array = npy_file.parse(file)
        with progress(array.data.nbytes) as advance:
            digest = streams.write(aside.file, array.data, array.symbol_bits, settings, advance)
        entry = Entry(array.dtype, array.shape, digest, array.fortran_order)
        about = manifest.to_json({KEY: entry})
        aside.file.write(about + len(about).to_bytes(_SIZE_BYTES, "little"))
        whole = aside.end()
        with progress(whole.nbytes, writing=True) as advance, target.open("wb") as out:
            npy_file.write_header(out, "|u1", (whole.nbytes,), False)
            for part in whole.slices():
                write_bytes(out, part)
                advance(part.nbytes)
        return file.nbytes


def decompress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write the .npy file that an archive was made of; return the bytes read.

    Raises:
        CorruptStreamError: the archive is damaged.
    """
    with opened(source) as file:
        stored = _stored(file)
        entry = stored.entry
        with progress(stored.byte_length) as advance, target.open("wb") as out:
            if entry.dtype:
                npy_file.write_header(out, entry.dtype, entry.shape, entry.fortran_order)
            stored.restore_into(out, settings.threads, advance)
        return file.nbytes


def read(file: Region) -> list[Stored]:
    """The only tensor, called KEY; CorruptStreamError if the file is no archive, or damaged."""
    return [_stored(file)]


def _stored(file: Region) -> Stored:
    data = npy_file.parse(file).data
    size = int.from_bytes(data[-_SIZE_BYTES:].tobytes(), "little")
    rest = data.nbytes - _SIZE_BYTES - size
    if rest < 0 or size > _MAX_MANIFEST_BYTES:
        raise CorruptStreamError("no PlaneZip archive, or a damaged one")
    about = data[rest : rest + size].tobytes()
    entries, _ = manifest.from_json(about, [KEY])
    return Stored(KEY, entries[KEY], npy_file.entry_bytes(KEY, entries[KEY]), data[:rest])

"""Archives that are .npy files: an array of bytes, which are a stream and its manifest.

Behind the stream stand the manifest and, in the last eight bytes, the manifest's size.
"""

from pathlib import Path

from planezip.codec.archives import manifest, npy_file
from planezip.codec.archives.manifest import KEY, Bytes, Entry, Manifest, RawHash
from planezip.codec.archives.pieces import map_path, pieces
from planezip.codec.archives.restoring import restore_into
from planezip.codec.archives.settings import Progress, Settings
from planezip.codec.format import MAGIC
from planezip.codec.streaming import write_stream
from planezip.errors import CorruptStreamError, InputError

_SIZE_BYTES = 8


def compress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write an archive of a .npy file; return the bytes of its array."""
    file = map_path(source)
    array = npy_file.parse(file)
    if array.data[: len(MAGIC)].tobytes() == MAGIC:
        raise InputError(f"{source} is a PlaneZip archive already")
    bits = settings.symbol_bits or array.symbol_bits
    digest = RawHash().update(array.data).hexdigest()
    entry = Entry(array.dtype, array.shape, digest, array.fortran_order)
    about = manifest.to_json(Manifest({KEY: entry}))
    with progress(array.data.nbytes) as advance, pieces(target.parent) as aside:
        size = write_stream(
            aside.file, array.data.data, settings.codec, bits, settings.threads, advance
        )
        aside.end(size)
        (stream,) = aside.mapped()
        with target.open("wb") as out:
            npy_file.write_header(out, "|u1", (size + len(about) + _SIZE_BYTES,), False)
            out.write(stream.data)
            out.write(about + len(about).to_bytes(_SIZE_BYTES, "little"))
    return array.data.nbytes


def decompress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write the .npy file that an archive was made of; return the bytes of its array.

    Raises:
        CorruptStreamError: the archive is damaged.
    """
    streams, entries = read(source)
    entry = entries[KEY]
    with progress(None) as advance, target.open("wb") as out:
        if entry.dtype:
            npy_file.write_header(out, entry.dtype, entry.shape, entry.fortran_order)
        size = restore_into(out, KEY, entry, streams[KEY], settings.threads, advance)
        npy_file.check_size(KEY, entry, size)
    return size


def read(source: Path) -> tuple[dict[str, Bytes], dict[str, Entry]]:
    """The only stream and what the manifest says of it, by KEY; CorruptStreamError if damaged."""
    data = npy_file.parse(map_path(source)).data
    size = int.from_bytes(data[-_SIZE_BYTES:].tobytes(), "little")
    rest = data.nbytes - _SIZE_BYTES - size
    if rest < 0:
        raise CorruptStreamError("no PlaneZip archive, or a damaged one")
    about = data[rest:-_SIZE_BYTES].tobytes()
    return {KEY: data[:rest]}, manifest.from_json(about, [KEY]).tensors

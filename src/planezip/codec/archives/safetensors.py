"""Archives that are safetensors files: every tensor a stream, the manifest in the metadata."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planezip.codec.archives import manifest, safetensors_file, safetensors_writer, streams
from planezip.codec.archives.manifest import KEY, Entry, Metadata
from planezip.codec.archives.names import escaped, unescaped
from planezip.codec.archives.pieces import pieces
from planezip.codec.archives.region import Region, opened
from planezip.codec.archives.safetensors_file import Kind, Tensor, checked_bytes
from planezip.codec.archives.settings import Progress, Settings
from planezip.codec.archives.streams import Stored
from planezip.errors import CorruptStreamError, InputError


def compress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write an archive of a safetensors file; return the bytes read."""
    with opened(source) as file, pieces(target.parent) as aside:
        tensors, metadata = safetensors_file.parse(file)
        manifest.refuse_archives(source, lambda: _stored(tensors, metadata))
        with _named(f"cannot make an archive of {source}"):
            safetensors_writer.check_writable(tensors)
        total = sum(tensor.data.nbytes for tensor in tensors.values())
        entries: dict[str, Entry] = {}
        kinds: dict[str, Kind] = {}
        with progress(total) as advance:
            for name, tensor in tensors.items():
                digest = streams.write(
                    aside.file, tensor.data, tensor.symbol_bits, settings, advance
                )
                entries[name] = Entry(tensor.dtype, tensor.shape, digest)
                kinds[name] = "U8", (aside.end().nbytes,)
        about = {escaped(key, KEY): value for key, value in (metadata or {}).items()}
        about[KEY] = manifest.to_json(entries, metadata).decode()
        with _named(f"cannot make an archive of {source}"):
            safetensors_writer.write(target, kinds, aside.mapped(), about, progress)
        return file.nbytes


def decompress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write the safetensors file that an archive was made of; return the bytes read.

    Raises:
        CorruptStreamError: the archive is damaged.
    """
    with opened(source) as file, pieces(target.parent) as aside:
        tensors, metadata = _stored(*safetensors_file.parse(file))
        total = sum(stored.byte_length for stored in tensors)
        with progress(total) as advance:
            for stored in tensors:
                stored.restore_into(aside.file, settings.threads, advance)
                aside.end()
        kinds = {stored.name: (stored.entry.dtype, stored.entry.shape) for stored in tensors}
        with _named(f"cannot restore {source}"):
            safetensors_writer.write(target, kinds, aside.mapped(), metadata, progress)
        return file.nbytes


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Says what failed when the library cannot write something."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def read(file: Region) -> list[Stored]:
    """Every tensor; CorruptStreamError if the file is no archive, or damaged."""
    return _stored(*safetensors_file.parse(file))[0]


def _stored(tensors: dict[str, Tensor], metadata: Metadata) -> tuple[list[Stored], Metadata]:
    """Every tensor that is stored in an archive's, and the metadata of the original."""
    if KEY not in (metadata or {}):
        raise CorruptStreamError("a safetensors file, but no PlaneZip archive")
    others = dict(metadata or {})
    about = others.pop(KEY)
    others = {unescaped(key, KEY): text for key, text in others.items()}
    entries, original = manifest.from_json(about, tensors, others)
    stored = [
        Stored(name, entry, checked_bytes(name, entry.dtype, entry.shape), tensors[name].data)
        for name, entry in entries.items()
    ]
    return stored, original

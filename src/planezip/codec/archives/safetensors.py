"""Archives that are safetensors files: every tensor a stream, the manifest in the metadata."""

from pathlib import Path

from planezip.codec.archives import manifest, safetensors_file
from planezip.codec.archives.manifest import KEY, Entry, Manifest, RawHash
from planezip.codec.archives.pieces import map_path, pieces
from planezip.codec.archives.restoring import restore_into
from planezip.codec.archives.safetensors_file import DTYPES, Tensor
from planezip.codec.archives.settings import Progress, Settings
from planezip.codec.streaming import write_stream
from planezip.errors import CorruptStreamError, InputError


def compress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write an archive of a safetensors file; return the bytes of its tensors."""
    tensors, metadata = safetensors_file.parse(map_path(source))
    if KEY in metadata:
        raise InputError(f"{source} is a PlaneZip archive already")
    total = sum(tensor.data.nbytes for tensor in tensors.values())
    entries = {}
    with progress(total) as advance, pieces(target.parent) as aside:
        for name, tensor in tensors.items():
            bits = settings.symbol_bits or (16 if tensor.dtype in ("BF16", "F16") else 32)
            size = write_stream(
                aside.file, tensor.data.data, settings.codec, bits, settings.threads, advance
            )
            aside.end(size)
            digest = RawHash().update(tensor.data).hexdigest()
            entries[name] = Entry(tensor.dtype, tensor.shape, digest)
        streams = zip(tensors, aside.mapped(), strict=True)
        compressed = {name: Tensor("U8", (data.nbytes,), data) for name, data in streams}
        about = manifest.to_json(Manifest(entries)).decode()
        safetensors_file.write(target, compressed, {**metadata, KEY: about})
    return total


def decompress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write the safetensors file that an archive was made of; return the bytes of its tensors.

    Raises:
        CorruptStreamError: the archive is damaged.
    """
    streams, metadata, entries = read(source)
    total = 0
    with progress(None) as advance, pieces(target.parent) as aside:
        for name, entry in entries.items():
            size = restore_into(aside.file, name, entry, streams[name], settings.threads, advance)
            if size != manifest.byte_count(entry.shape, DTYPES[entry.dtype][1]):
                raise CorruptStreamError(f"tensor {name!r} has another size than its shape says")
            aside.end(size)
            total += size
        restored = {
            name: Tensor(entry.dtype, entry.shape, data)
            for (name, entry), data in zip(entries.items(), aside.mapped(), strict=True)
        }
        safetensors_file.write(target, restored, metadata)
    return total


def read(source: Path) -> tuple[dict[str, manifest.Bytes], dict[str, str], dict[str, Entry]]:
    """The streams, the metadata of the original, and what the manifest says, by name.

    Raises:
        CorruptStreamError: the file is no archive, or damaged.
    """
    tensors, metadata = safetensors_file.parse(map_path(source))
    about = metadata.pop(KEY, None)
    if about is None:
        raise CorruptStreamError("a safetensors file, but no PlaneZip archive")
    entries = manifest.from_json(about, tensors).tensors
    for name, entry in entries.items():
        if entry.dtype not in DTYPES:
            raise CorruptStreamError(f"tensor {name!r} has an unknown element type {entry.dtype!r}")
        if tensors[name].dtype != "U8":
            raise CorruptStreamError(f"tensor {name!r} is not a compressed stream")
    return {name: tensor.data for name, tensor in tensors.items()}, metadata, entries

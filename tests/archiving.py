"""Archives made and restored without the command line."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import xxhash

from planezip.codec.archives import archive_of
from planezip.codec.archives.settings import Settings
from planezip.codec.streaming import Advance


@contextmanager
def silent(total: int, writing: bool = False) -> Iterator[Advance]:
    """No progress."""
    yield lambda done: None


def pack(source: Path, **options) -> Path:
    """Make an archive of a file."""
    target = source.with_name(f"{source.stem}.pz{source.suffix}")
    archive_of(source).compress(source, target, Settings(**options), silent)
    return target


def unpack(source: Path) -> Path:
    """Restore the file that an archive was made of, under another name."""
    target = source.with_name("back" + source.suffix)
    archive_of(source).decompress(source, target, Settings(), silent)
    return target


def sealed(manifest: dict, metadata: dict | None = None) -> dict:
    """The manifest with the hash that it should have, by other means than the code's."""
    text = json.dumps(
        [manifest["tensors"], metadata], sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    return manifest | {"xxh3_64": xxhash.xxh3_64_hexdigest(text.encode())}

"""planezip decompress"""

from pathlib import Path

import click

from planezip.cli import options
from planezip.cli.compress import SUFFIX
from planezip.errors import InputError


@click.command(
    epilog=options.example(
        "planezip decompress model.pz.safetensors", "planezip decompress activations.npy.pz"
    )
)
@click.argument("file", type=options.NAMED_PATH)
@options.compressed_output
@options.threads
@options.force
@options.as_json
def command(
    file: Path, output: Path | None, threads: int | None, force: bool, as_json: bool
) -> None:
    """Restore what was compressed to FILE, bit for bit.

    FILE.pz becomes FILE, and the archive model.pz.safetensors becomes model.safetensors. Of a
    stream, a NumPy array becomes a .npy file, anything else its bytes; of a torch tensor, too, only
    the bytes of its elements.
    """
    from planezip.cli.files import convert
    from planezip.codec.archives import STREAM, archive_of
    from planezip.codec.archives.settings import Settings

    target = output or _without_suffix(file)
    archive = archive_of(file) or STREAM
    settings = Settings(threads=threads)
    sizes = convert("decompress", archive.decompress, file, target, settings, force)
    options.print_sizes(file, sizes[0], target, sizes[1], as_json)


def _without_suffix(file: Path) -> Path:
    """The name without .pz, which may stand before another suffix."""
    if not file.name:
        raise InputError(f"cannot read {file}: it is a folder; name a file")
    if file.suffix == SUFFIX:
        return file.with_suffix("")
    inner = Path(file.stem)
    if inner.suffix != SUFFIX:
        raise InputError(f"{file} does not end in {SUFFIX}; say with -o what to write")
    return file.with_name(inner.stem + file.suffix)

"""planezip compress"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planezip.cli import options
from planezip.errors import InputError

if TYPE_CHECKING:
    from planezip.codec.archives import Conversion

SUFFIX = ".pz"


@click.command(
    epilog=options.example(
        "planezip compress model.safetensors -o model.pz.safetensors",
        "planezip compress activations.npy",
        "planezip compress weights.bin --symbol-bits 16",
    )
)
@click.argument("file", type=options.NAMED_PATH)
@options.compressed_output
@click.option(
    "--codec", default="planezip", show_default=True, help="planezip, zbx, bx, bpc, zvc or bdi."
)
@click.option(
    "--symbol-bits",
    type=int,
    help="Width of the symbols, 16 or 32.  [default: 16 for two-byte floats, else 32]",
)
@options.threads
@options.force
@options.as_json
def command(
    file: Path,
    output: Path | None,
    codec: str,
    symbol_bits: int | None,
    threads: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Compress FILE losslessly.

    model.safetensors becomes the archive model.pz.safetensors and arrays.npz the archive
    arrays.pz.npz: files of the same format in which every tensor is a compressed stream. Any other
    FILE becomes the stream FILE.pz. A NumPy array (.npy) keeps its element type and shape in it; -o
    FILE.pz.npy makes an archive of that, too. Files may be larger than memory.
    """
    from planezip.cli.files import convert
    from planezip.codec.archives.settings import Settings

    target = output or _default_target(file)
    settings = Settings(codec, symbol_bits, threads)
    kind = _kind(file, target)
    sizes = convert("compress", kind.compress, file, target, settings, force)
    options.print_sizes(file, sizes[0], target, sizes[1], as_json)


def _default_target(file: Path) -> Path:
    if not file.name:
        raise InputError(f"cannot read {file}: it is a folder; name a file")
    if file.suffix in (".safetensors", ".npz"):
        return file.with_name(file.stem + SUFFIX + file.suffix)
    return file.with_name(file.name + SUFFIX)


def _kind(file: Path, target: Path) -> "Conversion":
    """What to make of the file: the target's name tells."""
    from planezip.codec.archives import STREAM, archive_of

    archive = archive_of(target)
    if archive and target.suffix != file.suffix:
        raise InputError(
            f"cannot make {target} of {file}; "
            f"an archive's name ends as its file's does, a stream's in {SUFFIX}"
        )
    return archive or STREAM

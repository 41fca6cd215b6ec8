"""planezip decompress"""

import io
from pathlib import Path

import click

from planezip.cli import options
from planezip.cli.compress import SUFFIX
from planezip.errors import CorruptStreamError, InputError


@click.command(epilog=options.example("planezip decompress activations.npy.pz"))
@click.argument("file", type=click.Path(path_type=Path))
@options.compressed_output
@options.threads
@options.force
@options.as_json
def command(
    file: Path, output: Path | None, threads: int | None, force: bool, as_json: bool
) -> None:
    """Restore FILE.pz to FILE, bit for bit.

    A NumPy array becomes a .npy file, anything else its bytes; of a torch tensor, too, only the
    bytes of its elements.
    """
    from planezip.cli.files import read_bytes, refuse_to_overwrite, write

    target = output or _without_suffix(file)
    refuse_to_overwrite(target, force)
    stream = read_bytes(file)
    try:
        data = _restore(stream, threads)
    except CorruptStreamError as error:
        raise InputError(f"cannot decompress {file}: {error}") from None
    write(target, data, force)
    options.print_sizes(file, len(stream), target, len(data), as_json)


def _without_suffix(file: Path) -> Path:
    if file.suffix != SUFFIX:
        raise InputError(f"{file} does not end in {SUFFIX}; say with -o what to write")
    return file.with_suffix("")


def _restore(stream: bytes, threads: int | None) -> bytes:
    """The content of the file to write."""
    import numpy as np

    from planezip.codec import adapter, decompress

    restored = decompress(stream, threads=threads)
    if isinstance(restored, np.ndarray):
        buffer = io.BytesIO()
        np.save(buffer, restored, allow_pickle=False)
        return buffer.getvalue()
    return adapter.flatten(restored)[0].tobytes()

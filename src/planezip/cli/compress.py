"""planezip compress"""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planezip.cli import options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUFFIX = ".pz"


@click.command(
    epilog=options.example(
        "planezip compress activations.npy", "planezip compress weights.bin --symbol-bits 16"
    )
)
@click.argument("file", type=click.Path(path_type=Path))
@options.compressed_output
@click.option("--codec", default="planezip", show_default=True, help="One of the six codecs.")
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
    """Compress FILE losslessly to FILE.pz.

    Any file is taken as its bytes. A NumPy array (.npy) keeps its element type and shape, and its
    type decides the width of the symbols.
    """
    from planezip.cli.files import read_bytes, refuse_to_overwrite, write
    from planezip.codec import compress

    target = output or file.with_name(file.name + SUFFIX)
    refuse_to_overwrite(target, force)
    data = read_bytes(file)
    array = _array(data)
    content = data if array is None else array
    stream = compress(content, codec=codec, symbol_bits=symbol_bits, threads=threads)
    write(target, stream, force)
    options.print_sizes(file, len(data), target, len(stream), as_json)


def _array(data: bytes) -> "NDArray[np.generic] | None":
    """The array in a .npy file; None for any other file, and for arrays that no stream can hold."""
    import numpy as np

    if not data.startswith(b"\x93NUMPY"):
        return None
    try:
        array: NDArray[np.generic] = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, SyntaxError):
        return None
    return None if array.dtype.hasobject or array.dtype.fields else array

"""Any file as one stream: a .npy file as its array, all else as bytes."""

from pathlib import Path
from typing import Any

import numpy as np

from planezip.codec.archives import npy_file
from planezip.codec.archives.pieces import map_path
from planezip.codec.archives.settings import Progress, Settings
from planezip.codec.streaming import read_stream, write_stream


def compress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write the stream of a file; return the file's bytes."""
    file = map_path(source)
    array = npy_file.parse(file)
    contents: memoryview | np.ndarray[Any, Any] = file.data
    symbol_bits = settings.symbol_bits or array.symbol_bits
    # Streams are in row-major order: a file in the other order comes back only as bytes.
    if array.dtype and not array.fortran_order:
        contents = np.ndarray(array.shape, array.dtype, array.data)
    with progress(file.nbytes) as advance, target.open("wb") as out:
        write_stream(out, contents, settings.codec, symbol_bits, settings.threads, advance)
    return file.nbytes


def decompress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write the file that a stream was made of: a .npy file of an array, else bytes.

    Of a torch tensor, these are its elements' alone.

    Raises:
        CorruptStreamError: the stream is damaged.
    """
    contents, parts = read_stream(map_path(source), settings.threads)
    with progress(contents.byte_length) as advance, target.open("wb") as out:
        if contents.family == "numpy":
            npy_file.write_header(out, contents.dtype, contents.shape, False)
        for part in parts:
            out.write(part.data)
            advance(part.nbytes)
        return out.tell()

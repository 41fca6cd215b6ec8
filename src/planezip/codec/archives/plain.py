"""Any file as one stream: a .npy file as its array, all else as bytes."""

from pathlib import Path

from planezip.codec.adapter import Contents
from planezip.codec.archives import npy_file, streams
from planezip.codec.archives.region import opened
from planezip.codec.archives.settings import Progress, Settings
from planezip.codec.streaming import write_bytes


def compress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write the stream of a file; return the bytes read."""
    with opened(source) as file:
        array = npy_file.parse(file)
        contents, data = Contents("bytes", "", (), file.nbytes), file
        # Streams are in row-major order: a file in the other order comes back only as bytes.
        if array.dtype and not array.fortran_order:
            data = array.data
            contents = Contents("numpy", array.dtype, array.shape, data.nbytes)
        with progress(data.nbytes) as advance, target.open("wb") as out:
            streams.write_contents(
                out, contents, data.slices(), array.symbol_bits, settings, advance
            )
        return file.nbytes


def decompress(source: Path, target: Path, settings: Settings, progress: Progress) -> int:
    """Write the file that a stream was made of: a .npy file of an array, else bytes.

    Of a torch tensor, these are its elements' alone. Returns the bytes read.

    Raises:
        CorruptStreamError: the stream is damaged.
    """
    with opened(source) as file:
        contents, parts = streams.read(file, settings.threads)
        with progress(contents.byte_length) as advance, target.open("wb") as out:
            if contents.family == "numpy":
                npy_file.write_header(out, contents.dtype, contents.shape, False)
            for part in parts:
                write_bytes(out, part)
                advance(part.nbytes)
        return file.nbytes

"""One tensor out of an archive."""

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from planezip.codec.archives.manifest import Entry, RawHash
from planezip.codec.streaming import Advance, read_stream
from planezip.errors import CorruptStreamError


def restore_into(
    file: BinaryIO,
    name: str,
    entry: Entry,
    stream: NDArray[np.uint8],
    threads: int | None,
    advance: Advance,
) -> int:
    """Write the tensor's bytes to a file; return their number.

    Raises:
        CorruptStreamError: the stream is damaged, or its contents do not have the hash that the
            manifest says.
    """
    try:
        contents, parts = read_stream(stream, threads)
        digest = RawHash()
        for part in parts:
            digest.update(part)
            file.write(part.data)
            advance(part.nbytes)
    except CorruptStreamError as error:
        raise CorruptStreamError(f"tensor {name!r}: {error}") from None
    if digest.hexdigest() != entry.xxh3_64:
        raise CorruptStreamError(f"tensor {name!r} is not what was compressed: its hash differs")
    return contents.byte_length

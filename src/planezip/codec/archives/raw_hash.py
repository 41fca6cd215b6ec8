"""The hash by which a restored tensor is known to be the original."""

from collections.abc import Iterable, Iterator

import xxhash

from planezip.codec.archives.region import Bytes
from planezip.codec.engine import slices


class RawHash:
    """The hash of a tensor's bytes, given piece by piece."""

    def __init__(self) -> None:
        self._state = xxhash.xxh3_64()

    def passing(self, parts: Iterable[Bytes]) -> Iterator[Bytes]:
        """The parts, each hashed before it is handed on."""
        for part in parts:
            for piece in slices(part):
                self._state.update(piece.data)
            yield part

    def hexdigest(self) -> str:
        return self._state.hexdigest()

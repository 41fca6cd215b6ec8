"""What the modules of the rivals have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
"""One dimension: uint16 holds the bits of BF16 values, float32 holds FP32 values."""


def _as_it_is(values: Values) -> Any:
    return values


@dataclass(frozen=True)
class Coder:
    """One setting of a rival, on one thread.

    Attributes:
        encode: what `prepare` returned -> stream, whose len() is its size in bytes.
        decode: stream -> buffer of the values' bytes.
        prepare: values -> the argument of `encode`; not timed, done before every encoding.
    """

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    prepare: Callable[[Values], Any] = _as_it_is


Settings = dict[str, Callable[[Values], Coder]]
"""Name of a setting -> makes its coder for values like those given."""


def split_bytes(values: Values) -> Values:
    """First all first bytes of the values, then all second bytes, and so on."""
    return np.ascontiguousarray(values.view(np.uint8).reshape(-1, values.itemsize).T)


def join_bytes(stream: Any, width: int) -> Values:
    """The inverse of split_bytes() for values of `width` bytes."""
    planes = np.frombuffer(stream, np.uint8).reshape(width, -1)
    joined = np.empty((planes.shape[1], width), np.uint8)
    for place, plane in enumerate(planes):
        joined[:, place] = plane
    return joined


def byte_split(coder: Coder, width: int) -> Coder:
    """The coder on split bytes; splitting and joining is timed too."""
    return Coder(
        lambda values: coder.encode(split_bytes(values)),
        lambda stream: join_bytes(coder.decode(stream), width),
    )

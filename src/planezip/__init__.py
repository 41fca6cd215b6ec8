"""PlaneZip: train neural networks in less memory, losslessly.

Everything public is imported when it is first used, so `import planezip` is quick and needs no
torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planezip.codec.api import compress, compress_bound, compressed_size, decompress
    from planezip.codec.random_access import StreamView, decompress_range
    from planezip.codec.sequence import SequenceReader, SequenceWriter
    from planezip.errors import (
        CorruptStreamError,
        InputError,
        OverBudgetError,
        PlaneZipError,
    )
    from planezip.session.entered import keep
    from planezip.session.session import Session

_HOME = {
    "Session": "planezip.session.session",
    "SequenceReader": "planezip.codec.sequence",
    "SequenceWriter": "planezip.codec.sequence",
    "StreamView": "planezip.codec.random_access",
    "compress_bound": "planezip.codec.api",
    "decompress_range": "planezip.codec.random_access",
    "compress": "planezip.codec.api",
    "compressed_size": "planezip.codec.api",
    "keep": "planezip.session.entered",
    "decompress": "planezip.codec.api",
    "CorruptStreamError": "planezip.errors",
    "InputError": "planezip.errors",
    "OverBudgetError": "planezip.errors",
    "PlaneZipError": "planezip.errors",
}

__all__ = [
    "CorruptStreamError",
    "InputError",
    "OverBudgetError",
    "PlaneZipError",
    "SequenceReader",
    "SequenceWriter",
    "Session",
    "StreamView",
    "compress",
    "compress_bound",
    "compressed_size",
    "decompress",
    "decompress_range",
    "keep",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'planezip' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value  # the next look finds it without asking here
    return value

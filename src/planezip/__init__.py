"""PlaneZip: train neural networks in less memory, losslessly.

Everything public is imported when it is first used, so `import planezip` is quick and needs no
torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planezip.codec.api import compress, compressed_size, decompress
    from planezip.errors import (
        CorruptStreamError,
        InputError,
        OverBudgetError,
        PlaneZipError,
    )

_HOME = {
    "compress": "planezip.codec.api",
    "compressed_size": "planezip.codec.api",
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
    "compress",
    "compressed_size",
    "decompress",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'planezip' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)

"""The .npy format: NumPy's functions for its header, the elements as plain bytes."""

import io
import warnings
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from planezip.codec.adapter import HALVES, Contents, check_dtype
from planezip.codec.archives.manifest import Entry, byte_count
from planezip.codec.archives.region import Region
from planezip.codec.format import SymbolBits
from planezip.codec.restore import numpy_dtype
from planezip.errors import CorruptStreamError

_MAX_HEADER_BYTES = 1 << 16
_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True, slots=True)
class Array:
    """An array in a file: `dtype.str`, shape, order, bytes. Plain bytes have no dtype."""

    dtype: str
    shape: tuple[int, ...]
    fortran_order: bool
    data: Region

    @property
    def symbol_bits(self) -> SymbolBits:
        """As for arrays in memory."""
        return 16 if self.dtype in HALVES else 32


def parse(file: Region) -> Array:
    """The array in a .npy file; the file itself as plain bytes if no stream can hold it."""
    whole = Array("", (file.nbytes,), False, file)
    head = io.BytesIO(file[:_MAX_HEADER_BYTES].tobytes())
    try:
        with warnings.catch_warnings():  # Python's and NumPy's, of how a header is spelt
            warnings.simplefilter("ignore")
            shape, fortran_order, dtype = _READERS[np.lib.format.read_magic(head)](head)
        check_dtype(dtype)
        data = file[head.tell() :]
        contents = Contents("numpy", dtype.str, shape, data.nbytes)
        fits = (
            data.nbytes == byte_count(shape, 8 * dtype.itemsize)
            and contents.shape_is_possible(dtype.itemsize)
            and all(type(size) is int for size in shape)
        )
        # Other versions and spellings of a header are not written again: restored is bit for bit.
        again = io.BytesIO()
        write_header(again, dtype.str, shape, fortran_order)
        fits = fits and again.getvalue() == head.getvalue()[: head.tell()]
    except Exception:  # NumPy's parser fails on foreign bytes in ways that it does not list
        return whole
    return Array(dtype.str, shape, fortran_order, data) if fits else whole


def write_header(file: BinaryIO, dtype: str, shape: tuple[int, ...], fortran_order: bool) -> None:
    """Write all of a .npy file but the elements."""
    about: dict[str, Any] = {"descr": dtype, "fortran_order": fortran_order, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)


def entry_bytes(name: str, entry: Entry) -> int:
    """Bytes of a tensor in a manifest; CorruptStreamError if no array is of its type and shape."""
    try:
        item_bytes = numpy_dtype(entry.dtype).itemsize if entry.dtype else 1
        shaped = Contents("numpy", entry.dtype, entry.shape, 0)
        if (entry.dtype or len(entry.shape) == 1) and shaped.shape_is_possible(item_bytes):
            return byte_count(entry.shape, 8 * item_bytes)
    except CorruptStreamError:
        pass
    raise CorruptStreamError(f"array {name!r} has a type or shape in the manifest that none has")

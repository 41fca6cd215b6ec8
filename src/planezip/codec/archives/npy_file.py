"""The .npy format: NumPy's functions for its header, the elements as plain bytes."""

import io
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from planezip.codec.adapter import Contents, check_dtype
from planezip.codec.archives.manifest import Entry, byte_count
from planezip.codec.format import SymbolBits
from planezip.codec.restore import numpy_dtype
from planezip.errors import CorruptStreamError

Bytes = NDArray[np.uint8]

MAGIC = b"\x93NUMPY"
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
    data: Bytes

    @property
    def symbol_bits(self) -> SymbolBits:
        """As for arrays in memory."""
        return 16 if self.dtype in ("<f2", ">f2") else 32


def parse(file: Bytes) -> Array:
    """The array in a .npy file, a view; the file itself as plain bytes if no stream can hold it."""
    whole = Array("", (file.nbytes,), False, file)
    head = io.BytesIO(file[:_MAX_HEADER_BYTES].tobytes())
    try:
        shape, fortran_order, dtype = _READERS[np.lib.format.read_magic(head)](head)
        check_dtype(dtype)
        header, data = file[: head.tell()], file[head.tell() :]
        contents = Contents("numpy", dtype.str, shape, data.nbytes)
        fits = (
            data.nbytes == byte_count(shape, 8 * dtype.itemsize)
            and contents.shape_is_possible(dtype.itemsize)
            and all(type(size) is int for size in shape)
        )
        # Other versions and spellings of a header are not written again: restored is bit for bit.
        again = io.BytesIO()
        write_header(again, dtype.str, shape, fortran_order)
        fits = fits and again.getvalue() == header.tobytes()
    except Exception:  # NumPy's parser fails on foreign bytes in ways that it does not list
        return whole
    return Array(dtype.str, shape, fortran_order, data) if fits else whole


def write_header(file: BinaryIO, dtype: str, shape: tuple[int, ...], fortran_order: bool) -> None:
    """Write all of a .npy file but the elements."""
    about: dict[str, Any] = {"descr": dtype, "fortran_order": fortran_order, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)


def check_size(name: str, entry: Entry, size: int) -> None:
    """CorruptStreamError if the tensor cannot have so many bytes."""
    bits = 8 * numpy_dtype(entry.dtype).itemsize if entry.dtype else 8
    if byte_count(entry.shape, bits) != size:
        raise CorruptStreamError(f"array {name!r} has another size than its shape says")

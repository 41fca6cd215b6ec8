"""ZipNN, told the dtype. It overwrites its input: each encoding gets a copy, not timed."""

import warnings
from functools import partial

from benchmarks.codecs.coder import Coder, Settings, Values

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # of torch, about what zipnn uses
    from zipnn import ZipNN


def _coder(like: Values, method: str) -> Coder:
    dtype = {2: "bfloat16", 4: "float32"}[like.itemsize]
    codec = ZipNN(method=method, bytearray_dtype=dtype, threads=1)
    return Coder(codec.compress, codec.decompress, prepare=lambda values: bytearray(values.data))


SETTINGS: Settings = {
    "auto": partial(_coder, method="AUTO"),
    "huffman": partial(_coder, method="HUFFMAN"),
}

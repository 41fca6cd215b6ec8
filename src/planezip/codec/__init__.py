"""The PlaneZip codec: lossless compression of activations in 128-byte blocks (paper III-A)."""

from planezip.codec.api import compress, compressed_size, decompress
from planezip.codec.format import CODECS
from planezip.codec.inspection import StreamInfo, describe
from planezip.codec.measurement import Measurement, measure

__all__ = [
    "CODECS",
    "Measurement",
    "StreamInfo",
    "compress",
    "compressed_size",
    "decompress",
    "describe",
    "measure",
]

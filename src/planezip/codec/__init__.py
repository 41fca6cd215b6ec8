"""The PlaneZip codec: lossless compression of activations in 128-byte blocks (paper III-A)."""

from planezip.codec.api import compress, compress_bound, compressed_size, decompress
from planezip.codec.format import CODECS
from planezip.codec.inspection import StreamInfo, describe
from planezip.codec.levels import level
from planezip.codec.measurement import Measurement, measure
from planezip.codec.random_access import StreamView, decompress_range
from planezip.codec.sequence import SequenceReader, SequenceWriter
from planezip.codec.streaming import read_stream, write_stream

__all__ = [
    "CODECS",
    "Measurement",
    "SequenceReader",
    "SequenceWriter",
    "StreamInfo",
    "StreamView",
    "compress",
    "compress_bound",
    "compressed_size",
    "decompress",
    "decompress_range",
    "describe",
    "level",
    "measure",
    "read_stream",
    "write_stream",
]

"""The PlaneZip codec: lossless compression of activations in 128-byte blocks (paper III-A)."""

from planezip.codec.format import CODECS
from planezip.codec.measurement import Measurement, measure

__all__ = ["CODECS", "Measurement", "measure"]

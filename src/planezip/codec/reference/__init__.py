"""The meaning of the format: a plain encoder and decoder of chunk streams, slow and readable.

Mirrors docs/format.md. Every faster implementation agrees with this one to the bit.
"""

from planezip.codec.reference.chunks import decode, encode

__all__ = ["decode", "encode"]

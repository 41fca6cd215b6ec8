"""Archives: files of tensors whose tensors are compressed streams (docs/archives.md)."""

from planezip.codec.archives.kinds import STREAM, Archive, Conversion, archive_of

__all__ = ["STREAM", "Archive", "Conversion", "archive_of"]

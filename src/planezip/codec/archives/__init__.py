"""Archives: files of tensors whose tensors are compressed streams (docs/archives.md)."""

from planezip.codec.archives.kinds import STREAM, Archive, archive_of

__all__ = ["STREAM", "Archive", "archive_of"]

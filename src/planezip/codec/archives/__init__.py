"""Archives: files of tensors whose tensors are compressed streams (docs/archives.md)."""

from planezip.codec.archives.kinds import Archive, archive_of

__all__ = ["Archive", "archive_of"]

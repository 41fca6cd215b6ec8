"""PlaneZip against what a user could install instead: one module a rival (docs/codecs.md)."""

RIVALS = ("planezip", "zipnn", "zstandard", "lz4", "blosc2", "pcodec", "openzl", "isal")

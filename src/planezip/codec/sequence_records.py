"""The records of a sequence; byte layout in docs/format.md, "Sequences"."""

import struct
import time
from dataclasses import dataclass
from typing import Literal

import xxhash

from planezip.codec.format import SEQUENCE_MAGIC
from planezip.codec.sequence_file import SequenceFile

_HEADER = struct.Struct("<4sIQQ")  # magic, 0, bytes of the stream, checksum of these
HEADER_BYTES = _HEADER.size

_LOOKS, _LOOK_PAUSE_S = 20, 0.001  # a header is being written for less than that


def header(size: int) -> bytes:
    """What stands before a stream of so many bytes."""
    summed = struct.pack("<4sIQ", SEQUENCE_MAGIC, 0, size)
    return summed + struct.pack("<Q", xxhash.xxh3_64_intdigest(summed))


@dataclass(frozen=True, slots=True)
class Scan:
    """Offset and size of every whole stream; where the last ends; what the rest behind it is."""

    streams: list[tuple[int, int]]
    end: int
    tail: Literal["torn", "damaged"] | None

    @property
    def fault(self) -> str | None:
        """What is wrong behind the last whole stream; None if nothing is."""
        if self.tail is None:
            return None
        whole = f"behind {len(self.streams)} whole streams"
        return f"the sequence is {self.tail} from byte {self.end} on, {whole}"

    @property
    def begins_well(self) -> bool:
        """False of a file that was never a sequence."""
        return self.tail != "damaged" or bool(self.streams)


def scan(file: SequenceFile, known: Scan | None = None) -> Scan:
    """Read the headers of all records, or of those behind the known ones."""
    size = file.size()
    streams, at = (list(known.streams), known.end) if known else ([], 0)
    while at < size:
        front, stream = file.at(at, HEADER_BYTES), at + HEADER_BYTES
        if not any(front):
            return Scan(streams, at, "torn")
        if not front.startswith(SEQUENCE_MAGIC[: len(front)]):
            return Scan(streams, at, "damaged")
        if len(front) < HEADER_BYTES:
            return Scan(streams, at, "torn")
        length = _HEADER.unpack(front)[2]
        if front != header(length):
            return Scan(streams, at, "damaged")
        if length > size - stream:
            return Scan(streams, at, "torn")
        streams.append((stream, length))
        at = stream + length
    return Scan(streams, at, None)


def scan_beside_writers(file: SequenceFile) -> Scan:
    """As scan(); a tail that somebody is still writing is not there yet."""
    found = scan(file)
    for _ in range(_LOOKS):
        if found.tail is None:
            break
        with file.without_writers() as alone:
            found = scan(file, found)
        if alone is not False:
            break
        if found.tail == "torn":
            return Scan(found.streams, found.end, None)
        time.sleep(_LOOK_PAUSE_S)  # half of a header may have been read
    return found

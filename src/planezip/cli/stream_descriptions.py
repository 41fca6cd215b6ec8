"""What `planezip inspect` says about streams, sequences and archives."""

import os
from dataclasses import asdict, dataclass
from typing import Any

from planezip.cli.archive_descriptions import archive_facts, archive_grids, archive_tensors
from planezip.cli.planes import picture, sampled_planes
from planezip.codec import SequenceReader, StreamView, describe
from planezip.codec.archives import Archive
from planezip.codec.archives.region import Region
from planezip.report.grid import Grid
from planezip.report.names import ENCODERS


@dataclass(frozen=True, slots=True)
class Description:
    """A file in a few facts.

    Attributes:
        kind: "stream", "sequence", "archive", "trace", "capture", "plan" or "timeline".
        facts: JSON-able, for programs.
        grids: for people.
    """

    kind: str
    facts: dict[str, Any]
    grids: tuple[Grid, ...]


def pairs(title: str, rows: list[tuple[str, str]]) -> Grid:
    """A table of facts and their names."""
    return Grid(title, ("", ""), rows, words=2)


def archive_description(file: Region, kind: Archive, tensor: str | None) -> Description:
    """An archive tensor by tensor, and a picture of the tensor asked for."""
    tensors = archive_tensors(file, kind)
    grids = archive_grids(file.name, tensors, tensor)
    return Description("archive", archive_facts(tensors), tuple(grids))


def sequence_description(file: Region) -> Description:
    """The streams of a sequence, all of them checked whole, and what is wrong behind them."""
    with SequenceReader(os.dup(file.file.fileno())) as reader:
        infos = [describe(reader.stream(index)) for index in range(len(reader))]
        fault = reader.fault
    rows = [
        (
            f"{index}",
            f"{info.family} {info.dtype}",
            " x ".join(map(str, info.shape)),
            f"{info.byte_length:,}",
            f"{info.ratio:.3f}",
        )
        for index, info in enumerate(infos)
    ]
    facts = {"streams": [{**asdict(i), "ratio": i.ratio} for i in infos], "fault": fault}
    headers = ("stream", "restores", "shape", "bytes", "ratio")
    return Description("sequence", facts, (Grid(file.name, headers, rows, 3, note=fault or ""),))


def stream_description(file: Region) -> Description:
    """A stream and a picture of its planes."""
    stream = file.mapped()
    info = describe(stream)
    blocks = {ENCODERS.get(tag, tag): n for tag, n in info.encoder_blocks.items() if n}
    total = sum(blocks.values()) or 1
    rows = [
        ("codec", f"{info.codec}, {info.symbol_bits}-bit symbols"),
        (
            "restores",
            f"{info.family} {info.dtype} {list(info.shape) if info.dtype else ''}".strip(),
        ),
        ("uncompressed", f"{info.byte_length:,} bytes"),
        ("compressed", f"{info.wire_bytes:,} bytes, ratio {info.ratio:.3f}"),
        ("chunks", f"{info.encoded_chunks:,} encoded, {info.raw_chunks:,} raw"),
        *((f"blocks {tag}", f"{n:,} ({n / total:.0%})") for tag, n in blocks.items()),
    ]
    planes = sampled_planes(StreamView(stream, False), info.symbol_bits)
    grids = (pairs(file.name, rows), picture(file.name, planes))
    return Description("stream", {**asdict(info), "ratio": info.ratio}, grids)

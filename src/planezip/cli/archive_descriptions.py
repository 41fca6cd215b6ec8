"""What `planezip inspect` says about the tensors of an archive."""

from dataclasses import asdict, dataclass
from typing import Any

from planezip.cli.planes import Bits, picture, sampled_planes, strip
from planezip.codec import StreamInfo, StreamView, describe
from planezip.codec.archives import Archive
from planezip.codec.archives.manifest import Entry
from planezip.codec.archives.region import Region
from planezip.codec.archives.streams import Stored
from planezip.errors import CorruptStreamError, InputError
from planezip.report.grid import Grid
from planezip.report.names import ENCODERS


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of an archive: what it was, its stream described, a sample of its planes."""

    name: str
    entry: Entry
    info: StreamInfo
    planes: Bits

    def facts(self) -> dict[str, Any]:
        """For programs."""
        stream = asdict(self.info)
        shares = encoder_shares(self.info)
        about = {"name": self.name, "dtype": self.entry.dtype, "shape": self.entry.shape}
        kept = ("codec", "symbol_bits", "byte_length", "stream_bytes", "wire_bytes")
        return about | {k: stream[k] for k in kept} | {"ratio": self.info.ratio, "shares": shares}


def archive_facts(tensors: list[Tensor]) -> dict[str, Any]:
    """The archive for programs."""
    raw = sum(t.info.byte_length for t in tensors)
    stored = sum(t.info.stream_bytes for t in tensors)
    return {
        "tensors": [t.facts() for t in tensors],
        "byte_length": raw,
        "stream_bytes": stored,
        "ratio": raw / stored if stored else 1.0,
    }


def archive_grids(title: str, tensors: list[Tensor], pictured: str | None) -> list[Grid]:
    """The archive for people: a line a tensor, and the picture of the one asked for."""
    found = [t for t in tensors if pictured in (t.name, None)]
    if pictured is not None and not found:
        raise InputError(f"{title} has no tensor {pictured!r}")
    headers = ("tensor", "dtype", "shape", "planes", "blocks", "bytes", "ratio")
    rows = [_row(t) for t in found]
    note = "planes: sign to lowest bit; the darker, the more bits differ from the plane above"
    grids = [Grid(title, headers, rows, words=5, note=note)]
    if pictured is not None or len(found) == 1:
        grids += [picture(t.name, t.planes) for t in found]
    return grids


def _row(tensor: Tensor) -> tuple[str, ...]:
    info, entry = tensor.info, tensor.entry
    shares = sorted(encoder_shares(info).items(), key=lambda item: -item[1])
    return (
        tensor.name,
        entry.dtype or "bytes",
        " x ".join(map(str, entry.shape)) or "scalar",
        strip(tensor.planes),
        ", ".join(f"{ENCODERS.get(tag, tag)} {part:.0%}" for tag, part in shares if part >= 0.005),
        f"{info.byte_length:,}",
        f"{info.ratio:.3f}",
    )


def encoder_shares(info: StreamInfo) -> dict[str, float]:
    """Tag -> share of the blocks that are stored under it."""
    total = sum(info.encoder_blocks.values()) or 1
    return {tag: count / total for tag, count in info.encoder_blocks.items()}


def archive_tensors(file: Region, kind: Archive) -> list[Tensor]:
    """Every tensor of an archive, its stream read and checked whole.

    Raises:
        CorruptStreamError: the file is no archive, or damaged.
    """
    return [_tensor(stored) for stored in kind.read(file)]


def _tensor(stored: Stored) -> Tensor:
    stream = stored.stream.mapped()
    info = describe(stream)
    if info.byte_length != stored.byte_length:
        raise CorruptStreamError(f"tensor {stored.name!r} has another size than its shape says")
    planes = sampled_planes(StreamView(stream, False), info.symbol_bits)
    return Tensor(stored.name, stored.entry, info, planes)

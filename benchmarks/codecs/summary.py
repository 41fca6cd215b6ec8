"""The results as Markdown tables, and where a rival is ahead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from benchmarks.codecs.measure import Row

from planezip.report.machine import Machine

PRECISIONS = {"bf16": "BF16", "fp32": "FP32"}
_HEAD = "| codec | setting | ratio | encode GB/s | decode GB/s |\n|---|---|---:|---:|---:|\n"


@dataclass(frozen=True, slots=True)
class Mean:
    """Geometric means of a setting over all inputs of a precision."""

    rival: str
    setting: str
    ratio: float
    encode: float
    decode: float


def means(rows: Sequence[Row], dtype: str) -> list[Mean]:
    """One a setting, in the order of the rows."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.dtype == dtype:
            groups.setdefault((row.rival, row.setting), []).append(row)
    return [
        Mean(
            *key,
            geometric_mean(row.ratio for row in group),
            geometric_mean(row.encode_gb_per_s for row in group),
            geometric_mean(row.decode_gb_per_s for row in group),
        )
        for key, group in groups.items()
    ]


def summary(rows: Sequence[Row], machine: Machine, versions: Mapping[str, str]) -> str:
    """A Markdown page."""
    parts = [
        "# PlaneZip and other codecs\n",
        f"{machine.cpu}, one core. Geometric means over all inputs; speeds in GB of uncompressed "
        "bytes a second of CPU time. How it was measured: docs/codecs.md.\n",
    ]
    for dtype, title in PRECISIONS.items():
        lines = [_line(mean) for mean in means(rows, dtype)]
        parts.append(f"## {title}\n\n{_HEAD}" + "\n".join(lines) + "\n")
    parts += ["## By input\n", *(_by_input(rows, dtype) for dtype in PRECISIONS)]
    parts += ["## Where another codec is ahead\n", _ahead(rows), "## PlaneZip over ZipNN\n"]
    parts += [_over_zipnn(rows), "## Versions\n"]
    parts.append(", ".join(f"{name} {version}" for name, version in versions.items()) + "\n")
    return "\n".join(parts)


def _line(mean: Mean) -> str:
    cells = f"{mean.ratio:.3f} | {mean.encode:.2f} | {mean.decode:.2f}"
    return f"| {mean.rival} | {mean.setting} | {cells} |"


def _by_input(rows: Sequence[Row], dtype: str) -> str:
    """PlaneZip beside the best ratio of any rival on every input."""
    lines = [
        f"| {PRECISIONS[dtype]} | PlaneZip | encode | decode | best ratio of a rival "
        "| encode | decode |\n|---|---:|---:|---:|---|---:|---:|"
    ]
    for own in _own(rows, dtype):
        best = max(_others(rows, own), key=lambda row: row.ratio)
        lines.append(
            f"| {own.input} | {own.ratio:.3f} | {own.encode_gb_per_s:.2f} "
            f"| {own.decode_gb_per_s:.2f} | {best.ratio:.3f} {best.rival}, {best.setting} "
            f"| {best.encode_gb_per_s:.2f} | {best.decode_gb_per_s:.2f} |"
        )
    return "\n".join(lines) + "\n"


def _ahead(rows: Sequence[Row]) -> str:
    """Every setting that is faster one way at an equal or better ratio, or else that none is."""
    lines = []
    for dtype, title in PRECISIONS.items():
        for own in _own(rows, dtype):
            for row in _others(rows, own):
                ways = _faster(row, own)
                if ways and row.ratio >= own.ratio:
                    lines.append(
                        f"- {row.input}, {title}: {row.rival} ({row.setting}) has "
                        f"ratio {row.ratio:.3f} to {own.ratio:.3f} and {' and '.join(ways)}."
                    )
    found = "\n".join(lines) or "On no input is one faster either way at an equal or better ratio."
    return found + "\n"


def _faster(row: Row, own: Row) -> list[str]:
    pairs = {
        "encodes": (row.encode_gb_per_s, own.encode_gb_per_s),
        "decodes": (row.decode_gb_per_s, own.decode_gb_per_s),
    }
    return [f"{way} at {a:.2f} to {b:.2f} GB/s" for way, (a, b) in pairs.items() if a > b]


def _over_zipnn(rows: Sequence[Row]) -> str:
    """How many times as fast as the faster setting of ZipNN, on the inputs' mean."""
    lines = []
    for dtype, title in PRECISIONS.items():
        table = means(rows, dtype)
        own = next(mean for mean in table if mean.rival == "planezip")
        zipnn = [mean for mean in table if mean.rival == "zipnn"]
        encode = own.encode / max(mean.encode for mean in zipnn)
        decode = own.decode / max(mean.decode for mean in zipnn)
        lines.append(f"- {title}: encodes {encode:.2f} times as fast, decodes {decode:.2f} times.")
    return "\n".join(lines) + "\n"


def _own(rows: Sequence[Row], dtype: str) -> list[Row]:
    return [row for row in rows if row.rival == "planezip" and row.dtype == dtype]


def _others(rows: Sequence[Row], own: Row) -> list[Row]:
    same = (own.input, own.dtype)
    return [r for r in rows if r.rival != "planezip" and (r.input, r.dtype) == same]

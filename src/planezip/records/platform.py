"""A GPU with its host link and compression engine, as numbers (paper Table II)."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from planezip.errors import InputError
from planezip.records.trace import Precision

PAPER_PLATFORMS = ("A", "B")
"""Those of Table II; all others of data/platforms.toml are beyond the paper."""


@dataclass(frozen=True, slots=True)
class Platform:
    """A modelled platform; all rates are per second, link and engine rates per direction.

    Attributes:
        math_efficiency, memory_efficiency: achievable fraction of the peak.
        launch_s: overhead of starting one operator.
        copy_setup_s: overhead of starting one transfer.
        encode_bytes_per_s, decode_bytes_per_s: rates of the engine where it compresses in place,
            in raw bytes; None: engine_bytes_per_s.
    """

    name: str
    gpu: str
    precision: Precision
    peak_flops_per_s: float
    math_efficiency: float
    memory_bytes_per_s: float
    memory_efficiency: float
    d2h_bytes_per_s: float
    h2d_bytes_per_s: float
    engine_bytes_per_s: float
    launch_s: float = 4e-6
    copy_setup_s: float = 5e-6
    encode_bytes_per_s: float | None = None
    decode_bytes_per_s: float | None = None

    def copy_s(self, raw_bytes: int, ratio: float, link_bytes_per_s: float) -> float:
        """Time on a copy queue (Eq. 2), set-up included; the engine is bypassed if it is slower."""
        if not self.compresses(ratio, link_bytes_per_s):
            return self.copy_setup_s + raw_bytes / link_bytes_per_s
        link_s = raw_bytes / (ratio * link_bytes_per_s)
        return self.copy_setup_s + max(link_s, raw_bytes / self.engine_bytes_per_s)

    def compress_s(self, raw_bytes: int) -> tuple[float, float]:
        """Times on both copy queues to compress in device memory and to decompress, set-up
        included: what Eq. 2 leaves without a link."""
        encode, decode = (
            self.copy_setup_s + raw_bytes / (rate or self.engine_bytes_per_s)
            for rate in (self.encode_bytes_per_s, self.decode_bytes_per_s)
        )
        return encode, decode

    def compresses(self, ratio: float, link_bytes_per_s: float) -> bool:
        """Whether compression shortens a transfer; if not, the engine is bypassed (III-C)."""
        return ratio > 1 and self.engine_bytes_per_s > link_bytes_per_s


@cache
def platforms() -> dict[str, Platform]:
    """All platforms of data/platforms.toml by name."""
    text = (files("planezip") / "data" / "platforms.toml").read_text()
    return {name: Platform(name=name, **row) for name, row in tomllib.loads(text).items()}


def platform(name: str) -> Platform:
    """The platform called `name`; InputError names those that exist."""
    try:
        return platforms()[name]
    except KeyError:
        known = ", ".join(sorted(platforms()))
        raise InputError(f"unknown platform {name!r}; choose one of {known}") from None

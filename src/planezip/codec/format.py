"""Constants of the stream format; docs/format.md is its definition."""

from typing import Final, Literal

CodecName = Literal["zvc", "bdi", "bpc", "bx", "zbx", "planezip"]
SymbolBits = Literal[16, 32]

CODECS: Final[tuple[CodecName, ...]] = ("zvc", "bdi", "bpc", "bx", "zbx", "planezip")
"""Codec names; the index of a name is its id in streams."""

ENCODERS: Final = ("raw", "zvc", "dbx", "bx", "zbx")
"""Names of the tags of the planezip codec; the index of a name is its tag."""

SINGLE_ENCODING: Final[dict[str, str]] = {"zvc": "zvc", "bpc": "dbx", "bx": "bx", "zbx": "zbx"}
"""The encoding that tag 1 means in a single-encoding codec."""

BDI_FORMS: Final = ((8, 1), (8, 2), (8, 4), (4, 1), (4, 2), (2, 1))
"""Element bytes and delta bytes of the BDI tags 3, 4, ..."""

BDI_TAGS: Final = (
    "raw",
    "zeros",
    "repeated",
    *(f"base{base}-delta{delta}" for base, delta in BDI_FORMS),
)

BLOCK_BYTES: Final = 128
BLOCK_BITS: Final = 8 * BLOCK_BYTES
CHUNK_BLOCKS: Final = 32
CHUNK_BYTES: Final = CHUNK_BLOCKS * BLOCK_BYTES
HEADER_BYTES: Final = 2


def tag_bits(codec: str) -> int:
    """Bits of the tag that precedes every block."""
    return {"planezip": 3, "bdi": 4}.get(codec, 1)


def tag_names(codec: str) -> tuple[str, ...]:
    """Names of the codec's tags in order; tags beyond them are reserved."""
    if codec == "planezip":
        return ENCODERS
    return BDI_TAGS if codec == "bdi" else ("raw", SINGLE_ENCODING[codec])


MAGIC: Final = b"PLZ"
SEQUENCE_MAGIC: Final = b"PLZS"
VERSION: Final = 1
FAMILIES: Final = ("bytes", "numpy", "torch")
"""Kinds of contents; the index of a name is its id in streams."""
MAX_DIMENSIONS: Final = 64
MAX_SPREAD: Final = 1 << 63
"""Bound of the product of an element's bytes and the dimensions that are not 0."""

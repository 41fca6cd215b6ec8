"""Writes the golden streams that do not exist yet: python tests/golden/write.py

A stream that has been committed is never written again: every later version must still read it, and
write it too while the format version stays the same. To cover something new, add a case.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from planezip import compress
from planezip.codec import CODECS

FOLDER = Path(__file__).parent


def noise(count: int) -> np.ndarray:
    """A fixed sequence of 32-bit numbers (xorshift), whatever the NumPy version."""
    state, numbers = 0x9E3779B9, []
    for _ in range(count):
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        numbers.append(state)
    return np.array(numbers, np.uint32)


def relu_output() -> np.ndarray:
    """Floats of similar magnitude, half of them zero."""
    bits = noise(3000)
    return np.where(bits & 1, 0x3F000000 | bits >> 8, 0).astype("<u4").view("<f4")


def mixed_blocks() -> np.ndarray:
    """Blocks for every encoder and every BDI form, one after the other, noise last."""
    index = np.arange(256, dtype=np.uint64)
    parts = [
        index * 0,
        index * 0 + 0x0123456789ABCDEF,
        index + (1 << 40),
        index * 100 + (1 << 40),
        index * 5_000_000 + (1 << 50),
        (index % 100 + (1 << 24) << 32) + index % 90 + (1 << 24),
        (index * 100 % 9999 + (1 << 24) << 32) + (1 << 24),
        (0x1234 + noise(1024) % 100).astype("<u2").view("<u8"),
        np.where(noise(256) % 3, 0, index << 44),
    ]
    return np.concatenate(
        [*(part.astype("<u8").view("u1") for part in parts), noise(99).view("u1")]
    )


def bf16(values: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(values.copy()).bfloat16()


CASES: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    **{
        f"mixed-{codec}-16": (mixed_blocks, {"codec": codec, "symbol_bits": 16}) for codec in CODECS
    },
    **{
        f"mixed-{codec}-32": (mixed_blocks, {"codec": codec, "symbol_bits": 32}) for codec in CODECS
    },
    "bytes": (lambda: b"one block and a little more" * 5, {}),
    "empty-bytes": (lambda: b"", {}),
    "float32-relu": (relu_output, {}),
    "float16-relu": (lambda: relu_output().astype("<f2").reshape(30, 10, 10), {}),
    "float64-0d": (lambda: np.array(-0.0), {}),
    "int64-byte-swapped": (lambda: np.arange(700).astype(">i8").reshape(7, 100), {}),
    "int32-empty": (lambda: np.empty((3, 0, 2), "<i4"), {}),
    "complex64": (lambda: relu_output().view("<c8"), {}),
    "datetime64": (lambda: (np.arange(99) * 86400).astype("<M8[s]"), {}),
    "bool": (lambda: noise(5000) % 5 == 0, {}),
    "torch-bfloat16": (lambda: bf16(relu_output()).reshape(3, 1000), {}),
    "torch-bfloat16-32": (lambda: bf16(relu_output()), {"symbol_bits": 32}),
    "torch-bool": (lambda: bf16(relu_output()) > 0, {}),
}


def main() -> None:
    for name, (contents, options) in CASES.items():
        path = FOLDER / f"{name}.pz"
        try:
            with path.open("xb") as file:
                file.write(compress(contents(), **options))
            print(f"wrote {path.name}")
        except FileExistsError:
            print(f"kept {path.name}")


if __name__ == "__main__":
    main()

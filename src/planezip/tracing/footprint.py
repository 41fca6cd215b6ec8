"""Bytes of memory that an operator touches (paper IV: the memory side of an operator's time)."""

import math
from collections.abc import Iterable

import torch

from planezip.tracing.operands import Operands, Signature


def touched_bytes(tensor: torch.Tensor) -> int:
    """Bytes that reading every element of the tensor touches.

    Elements along a dimension of stride 0, as `expand` makes, are the same bytes and count once;
    other overlaps are bounded by the size of the storage.
    """
    if tensor.numel() == 0:
        return 0
    extents = (n for n, step in zip(tensor.shape, tensor.stride(), strict=True) if step != 0)
    return min(math.prod(extents) * tensor.element_size(), tensor.untyped_storage().nbytes())


def covers_storage(tensor: torch.Tensor) -> bool:
    """Whether the tensor's elements are the whole of its storage."""
    return touched_bytes(tensor) == tensor.untyped_storage().nbytes()


def traffic_bytes(
    sig: Signature, operands: Operands, produced: list[torch.Tensor]
) -> tuple[int, int]:
    """Bytes of FP32 elements and of all others that a call reads and writes.

    A tensor that is both read and written counts twice, one passed twice counts once. What is
    overwritten is written only, even where a part of a storage makes it a dependence.
    """
    if sig.touches_nothing:
        return 0, 0
    updated = operands.written if sig.overwrites else ()
    sources = [t for t in operands.read if not any(t is u for u in updated)]
    written = [*operands.written, *produced]
    fp32, other = map(sum, zip(_split(sources), _split(written), strict=True))
    budget = sum(map(touched_bytes, produced))
    for tensor in operands.gathered:
        taken = min(touched_bytes(tensor), budget)
        fp32, other = (
            (fp32 + taken, other) if tensor.dtype == torch.float32 else (fp32, other + taken)
        )
    return fp32, other


def _split(tensors: Iterable[torch.Tensor]) -> tuple[int, int]:
    """FP32 and other bytes of distinct tensors."""
    distinct = {
        (t.untyped_storage()._cdata, t.storage_offset(), tuple(t.shape), t.stride()): t
        for t in tensors
    }
    fp32 = sum(touched_bytes(t) for t in distinct.values() if t.dtype == torch.float32)
    return fp32, sum(map(touched_bytes, distinct.values())) - fp32

"""How a tensor lies in its storage: what is left of it when the bytes are gone."""

from typing import NamedTuple

import torch


class Geometry(NamedTuple):
    """Everything about a strided tensor but its contents; `offset` and `stride` count elements."""

    dtype: torch.dtype
    shape: torch.Size
    stride: tuple[int, ...]
    offset: int
    conj: bool
    neg: bool

    def is_like(self, other: "Geometry") -> bool:
        """Whether all but the offset is the same."""
        return self._replace(offset=0) == other._replace(offset=0)

    @property
    def extent_bytes(self) -> int:
        """Bytes from the storage's beginning to the end of the last element."""
        if 0 in self.shape:
            return 0
        last = sum((n - 1) * step for n, step in zip(self.shape, self.stride, strict=True))
        return (self.offset + last + 1) * self.dtype.itemsize


def geometry_of(tensor: torch.Tensor) -> Geometry:
    """The geometry of a strided tensor."""
    return Geometry(
        tensor.dtype,
        tensor.shape,
        tensor.stride(),
        int(tensor.storage_offset()),
        tensor.is_conj(),
        tensor.is_neg(),
    )


def view(memory: torch.UntypedStorage, geometry: Geometry) -> torch.Tensor:
    """A tensor of that geometry over `memory`.

    Raises:
        ValueError: the memory ends before the last element; torch would let it grow in silence.
    """
    if geometry.extent_bytes > memory.nbytes():
        raise ValueError(f"{geometry} reaches beyond a storage of {memory.nbytes()} bytes")
    tensor = torch.empty(0, dtype=geometry.dtype, device=memory.device)
    tensor.set_(memory, geometry.offset, geometry.shape, geometry.stride)
    if geometry.conj:
        tensor = torch._conj(tensor)
    return torch._neg_view(tensor) if geometry.neg else tensor


def whole(memory: torch.UntypedStorage, dtype: torch.dtype) -> torch.Tensor:
    """All of a storage as one row of `dtype`, or of bytes where its size is no multiple of that."""
    count, rest = divmod(memory.nbytes(), dtype.itemsize)
    if rest:
        dtype, count = torch.uint8, memory.nbytes()
    return view(memory, Geometry(dtype, torch.Size((count,)), (1,), 0, False, False))

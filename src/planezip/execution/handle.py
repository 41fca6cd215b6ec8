"""What autograd holds in the place of a saved tensor."""

from collections.abc import Callable
from functools import cache

import torch

from planezip.execution.geometry import Geometry
from planezip.execution.saved import Saved


class Handle:
    """One taking of a tensor.

    Args:
        tensor: what autograd saves.
        saved: the value that it holds, None if it is left as it is.
        release: called with that value when autograd lets go of the handle.

    Attributes:
        probe: shares the tensor's version counter, and its memory where that is not ours to take.
        version: that counter when the tensor was saved.
    """

    __slots__ = ("_release", "geometry", "probe", "saved", "unpack", "version")

    def __init__(
        self,
        tensor: torch.Tensor,
        unpack: "Callable[[Handle], torch.Tensor]",
        saved: Saved | None = None,
        geometry: Geometry | None = None,
        release: Callable[[Saved], None] | None = None,
    ) -> None:
        self.saved, self.geometry, self.unpack, self._release = saved, geometry, unpack, release
        self.version = tensor._version
        if saved is None:
            self.probe = tensor.detach()
            return
        # No dispatch mode needs to hear of this, and there are many of them.
        with torch._C._DisableTorchDispatch():
            self.probe = tensor.detach()
            self.probe.data = _nothing(tensor.dtype, tensor.device)

    def check(self) -> None:
        """RuntimeError, as torch's own, if the tensor was written since it was saved."""
        if self.probe._version != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: a {self.probe.dtype} tensor is at version "
                f"{self.probe._version}; expected version {self.version} instead"
            )

    def tensor(self, contents: torch.Tensor) -> torch.Tensor:
        """The contents under the version counter of the tensor that was saved, so that whoever
        writes them in backward is found out by the next handle."""
        if contents.is_conj() or contents.is_neg():
            return contents
        with torch._C._DisableTorchDispatch():
            tensor = self.probe.detach()
            tensor.data = contents
        return tensor

    def __del__(self) -> None:
        saved = getattr(self, "saved", None)
        if saved is not None and self._release is not None:
            self._release(saved)


@cache
def _nothing(dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.empty(0, dtype=dtype, device=device)

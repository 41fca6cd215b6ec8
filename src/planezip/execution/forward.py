"""One forward pass: what autograd saves in it, and how backward gets it back."""

from collections.abc import Callable
from typing import Any

import torch

from planezip.execution.copies import Copier, Memory
from planezip.execution.geometry import Geometry, geometry_of, view
from planezip.execution.recorder import Recorder, is_plain
from planezip.execution.replay import NotReplayableError, replay
from planezip.execution.saved import Action, Saved
from planezip.execution.tape import Tape, Value

Decide = Callable[[Value, torch.Tensor], Action]


class Handle:
    """What autograd holds in the place of a saved tensor.

    Attributes:
        probe: shares the tensor's version counter; with `passed` it is the tensor itself.
        version: that counter when the tensor was saved.
    """

    __slots__ = ("forward", "geometry", "probe", "saved", "version")

    def __init__(
        self,
        forward: "Forward",
        tensor: torch.Tensor,
        saved: Saved | None,
        geometry: Geometry | None = None,
    ) -> None:
        self.forward, self.saved, self.geometry = forward, saved, geometry
        self.version = tensor._version
        self.probe = tensor.detach()
        if saved is not None:
            saved.handles += 1
            self.probe.data = _nothing(tensor)

    def __del__(self) -> None:
        if getattr(self, "saved", None) is not None:
            self.forward.release(self.saved)


class Forward:
    """The saved values of one forward pass; lives as long as autograd holds one of them.

    Args:
        decide: says what becomes of a value when it is saved.
        copier: makes and reads compressed copies.
    """

    def __init__(self, decide: Decide, copier: Copier) -> None:
        self.tape = Tape()
        self._decide, self._copier = decide, copier
        self._saved: dict[int, Saved] = {}
        self._stays: Callable[[int], bool] = lambda v: v in self._saved and bool(self._saved[v].handles)

    def pack(self, recorder: Recorder, tensor: torch.Tensor) -> Handle:
        """Take a tensor from autograd."""
        recorder.paused = True
        try:
            if not is_plain(tensor):
                return Handle(self, tensor, None)
            state = recorder.state(tensor)
            value = self.tape.values[state.value]
            memory = tensor.untyped_storage()
            if state.external or state.fixed or memory.nbytes() != value.nbytes:
                return Handle(self, tensor, None)
            saved = self._saved.get(value.index)
            if saved is None:
                saved = self._enter(value, tensor, memory)
            return Handle(self, tensor, saved, geometry_of(tensor))
        finally:
            recorder.paused = False

    def unpack(self, handle: Handle) -> torch.Tensor:
        """Give a tensor back to autograd."""
        if handle.probe._version != handle.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: a {handle.probe.dtype} tensor is at version "
                f"{handle.probe._version}; expected version {handle.version} instead"
            )
        if handle.saved is None or handle.geometry is None:
            return handle.probe
        saved = handle.saved
        memory = self._present(saved)
        saved.unpacked += 1
        if saved.unpacked >= saved.handles and not saved.pins:
            saved.rest()
        return view(memory, handle.geometry)

    def release(self, saved: Saved) -> None:
        """Autograd has let go of one handle of a value."""
        saved.handles -= 1
        self._let_go(saved)

    def _enter(self, value: Value, tensor: torch.Tensor, memory: Memory) -> Saved:
        action = self._decide(value, tensor)
        saved = Saved(value.index, action, tensor.dtype, value.nbytes)
        self._saved[value.index] = saved
        if action == "drop":
            return saved
        saved.memory = memory
        if action != "keep":
            saved.leave(self._copier)
        return saved

    def _present(self, saved: Saved) -> Memory:
        memory = saved.present(self._copier)
        if memory is not None:
            return memory
        try:
            made = replay(self.tape, [saved.value], self._find, self._stays)
        except NotReplayableError as error:
            raise RuntimeError(self._why_not(int(str(error)))) from error
        for v, memory in made.items():
            self._saved[v].memory = memory
        return made[saved.value]

    def _find(self, v: int) -> Memory | None:
        """The contents of a value that need not be recomputed."""
        value = self.tape.values[v]
        if value.external:
            tensor = value.original
            if tensor is None or value.superseded or tensor._version != value.version:
                return None
            return tensor.untyped_storage()
        saved = self._saved.get(v)
        if saved is None or value.superseded:
            return None
        return saved.present(self._copier)

    def _why_not(self, v: int) -> str:
        value = self.tape.values[v]
        if value.external and value.original is not None:
            return (
                f"an input or parameter of shape {tuple(value.original.shape)}, from which "
                "activations are recomputed, has been modified by an inplace operation since the "
                "forward pass"
            )
        return f"value {v} cannot be recomputed; please report this as a fault of PlaneZip"

    def _let_go(self, saved: Saved) -> None:
        if not saved.handles and not saved.pins:
            saved.forget()


def _nothing(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=tensor.dtype, device=tensor.device)

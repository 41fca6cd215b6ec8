"""Which storages autograd saves for backward, as torch's own saved-tensor hooks see it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch._C._autograd import _get_sequence_nr
from torch._ops import OpOverload
from torch.autograd.graph import saved_tensors_hooks

from planezip.errors import InputError


class ModifiedError(InputError, RuntimeError):
    """The model changes in place what backward needs; torch would raise a RuntimeError."""


class _Packed(NamedTuple):
    tensor: torch.Tensor
    storage: int
    is_output: bool
    version: int


class SavedTensorHooks:
    """Hooks that note what backward uses and leave the recorded operators as without hooks.

    Without hooks autograd keeps an operator's saved inputs as they are, and detaches a saved
    output when it is saved (it would keep itself alive otherwise) and again when it is used.
    With hooks it does neither when a tensor is saved, and detaches everything that needs a
    gradient when it is used. So the hooks detach outputs as autograd would have done, and point
    out the detaches that would not have happened. Both matter only because a dispatch mode sees
    these detaches; they are views and take no time.

    A tensor counts when backward takes it out again: what a graph saves that nobody runs backward
    through, or that the forward pass itself does (a gradient penalty), backward does not need.

    Args:
        enter: gives the id of a tensor's storage.
    """

    def __init__(self, enter: Callable[[torch.Tensor], int]) -> None:
        self._enter = enter
        self._in_backward = False
        self._saved: set[int] = set()
        self._just_unpacked: torch.Tensor | None = None

    def context(self) -> saved_tensors_hooks:
        """The context manager to run the iteration in."""
        return saved_tensors_hooks(self._pack, self._unpack)

    def start_backward(self) -> None:
        """From now on what is taken out counts."""
        self._in_backward = True

    def saved(self) -> tuple[int, ...]:
        """Ids of all storages taken out in backward, whatever they hold, ascending."""
        return tuple(sorted(self._saved))

    def caused(self, func: OpOverload[..., Any], args: tuple[Any, ...]) -> bool:
        """Whether this operator call is a detach that there is only because of the hooks."""
        unpacked, self._just_unpacked = self._just_unpacked, None
        return (
            unpacked is not None
            and func is torch.ops.aten.detach.default
            and args[0].untyped_storage()._cdata == unpacked.untyped_storage()._cdata
        )

    def _pack(self, tensor: torch.Tensor) -> _Packed:
        storage = self._enter(tensor)
        is_output = _is_output(tensor)
        kept = tensor.detach() if is_output else tensor
        return _Packed(kept, storage, is_output, tensor._version)

    def _unpack(self, packed: _Packed) -> torch.Tensor:
        # Autograd makes this check itself when there are no hooks.
        if packed.tensor._version != packed.version:
            raise ModifiedError(
                f"a tensor of shape {tuple(packed.tensor.shape)} that backward needs has been "
                "modified by an in-place operation after it was saved"
            )
        if self._in_backward:
            self._saved.add(packed.storage)
        self._just_unpacked = None if packed.is_output else packed.tensor
        return packed.tensor


def _is_output(tensor: torch.Tensor) -> bool:
    """Whether the operator that saves the tensor has just computed it.

    Its node of the autograd graph is then the youngest. A node that saves an input exists before
    the hook runs, so the node that computed the input is older.
    """
    node = tensor.grad_fn
    return node is not None and node._sequence_nr() == _get_sequence_nr() - 1

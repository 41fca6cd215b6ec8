"""Records every ATen operator of a training iteration and what it reads and writes (paper IV)."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from planezip.records import Kind, Op, Phase
from planezip.records.trace import BUDGETED_KINDS, HALF_DTYPES
from planezip.tracing.arguments import check_recorded
from planezip.tracing.flops import flops
from planezip.tracing.footprint import covers_storage, traffic_bytes
from planezip.tracing.operands import Operands, Signature, operands, signature, tensors_in
from planezip.tracing.saved import SavedTensorHooks
from planezip.tracing.storages import StorageTable

Observer = Callable[[int, torch.Tensor, bool], None]
_NOT_OPERATORS = frozenset({"profiler", "prim"})
"""Namespaces of what runs no kernel: markers, and questions such as a FakeTensor's device."""


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Dispatch mode that writes down the operators that run while it is active.

    What counts as an operator: every call that a plain dispatch mode sees, views and the detaches
    that autograd makes included, without the profiler's markers and questions about tensors, and
    without the detaches that the saved-tensor hooks cause (see `SavedTensorHooks`). An operator
    that returns storages that did not exist before, or that mutates arguments by its schema, writes
    them; all others are views. Operators that ran inside another operator are part of it.

    Attributes:
        table: the storages.
        ops: the operators so far.
        phase: the pass that is running; whoever runs the iteration starts the next one.
        hooks: the saved-tensor hooks, active together with the mode.
        strays: parameters that nobody had entered into the table when they were first used.
        mixed_precision: whether the forward pass produced BF16 or FP16 activations. Its element
            types are then meant as they are; an FP32 pass stands for a BF16 one as well (paper IV).
        observer: called with a storage's id, a tensor in it and `mixed_precision` when a backward
            operator is about to read for the first time an activation or input that exists since
            the forward pass.
    """

    def __init__(self, observer: Observer | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.table = StorageTable()
        self.ops: list[Op] = []
        self.phase: Phase = "forward"
        self.hooks = SavedTensorHooks(self.enter)
        self.strays: list[torch.nn.Parameter] = []
        self.mixed_precision = False
        self.observer = observer
        self._unobserved: set[int] = set()

    def start_backward(self) -> None:
        """The forward pass is over: everything that exists now may be saved for backward."""
        self.phase = "backward"
        self.hooks.start_backward()
        self.mixed_precision = self.table.holds("activation", HALF_DTYPES)
        self._unobserved = {
            i for i in range(len(self.table)) if self.table.kind(i) in BUDGETED_KINDS
        }

    def start_optimizer(self) -> None:
        """The backward pass is over: what is written from now on is no activation."""
        self.phase = "optimizer"

    def enter(self, tensor: torch.Tensor) -> int:
        """Id of the tensor's storage; one never seen before existed before the iteration.

        What the forward pass meets belongs to the batch unless it is a parameter. What only
        backward meets, such as a constant of a gradient hook or the gradient of an earlier
        iteration, is no saved activation: nothing of this iteration's forward pass made or used
        it, so it lies outside the activation memory like a buffer.
        """
        known = self.table.find(tensor)
        if known is not None:
            return known
        if isinstance(tensor, torch.nn.Parameter):
            self.strays.append(tensor)
            return self.table.add(tensor, "parameter")
        if self.phase == "forward":
            check_recorded(tensor, computed_here=tensor.grad_fn is None)
            return self.table.add_input(tensor)
        return self.table.add(tensor, "buffer" if self.phase == "backward" else "optimizer_state")

    def __torch_dispatch__(
        self,
        func: OpOverload[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func.namespace in _NOT_OPERATORS or self.hooks.caused(func, args):
            return func(*args, **kwargs)
        sig = signature(func)
        given = operands(sig, args, kwargs, covers_storage)
        reads = tuple(dict.fromkeys(self.enter(t) for t in (*given.read, *given.gathered)))
        if self.phase == "backward" and not sig.is_view:
            self._announce((*given.read, *given.gathered))
        out = func(*args, **kwargs)
        writes, produced = self._writes(sig, given, out)
        fp32_bytes, other_bytes = traffic_bytes(sig, given, produced) if writes else (0, 0)
        self.ops.append(
            Op(
                index=len(self.ops),
                name=str(func),
                phase=self.phase,
                flops=flops(func, args, kwargs, out),
                fp32_bytes=fp32_bytes,
                other_bytes=other_bytes,
                reads=reads,
                writes=writes,
                random=sig.random,
            )
        )
        return out

    def _announce(self, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            storage = self.enter(tensor)
            if self.observer and storage in self._unobserved:
                self._unobserved.remove(storage)
                self.observer(storage, tensor, self.mixed_precision)

    def _writes(
        self, sig: Signature, given: Operands, out: Any
    ) -> tuple[tuple[int, ...], list[torch.Tensor]]:
        """Ids of the storages written, by output slot, and the tensors in new storages.

        Slots count the members of the result, None included; arguments mutated without being
        returned come after them. Temporaries of the optimizer step count as its state.
        """
        kind: Kind = "optimizer_state" if self.phase == "optimizer" else "activation"
        results = list(out) if isinstance(out, (list, tuple)) else [out]
        mutated = {self.enter(t) for t in given.written}
        written: dict[int, None] = {}
        produced: list[torch.Tensor] = []
        for slot, result in enumerate(results):
            for tensor in tensors_in(result):
                known = self.table.find(tensor)
                storage = self.table.add(tensor, kind, len(self.ops), slot)
                if known is None:
                    produced.append(tensor)
                if known is None or known in mutated or self._has_grown(sig, tensor):
                    written[storage] = None
        written.update(dict.fromkeys(self.enter(t) for t in given.written))
        return tuple(written), produced

    def _has_grown(self, sig: Signature, tensor: torch.Tensor) -> bool:
        """Whether resize_ or its like gave the storage more memory, which it fills by copying."""
        return sig.changes_view and self.table.has_grown(tensor)

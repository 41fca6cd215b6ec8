"""Writes the tape of a forward pass while it runs."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from planezip.execution.geometry import geometry_of
from planezip.execution.guards import Environment
from planezip.execution.meter import Meter
from planezip.execution.schema import Schema, generator_of, schema_of, tensors_in
from planezip.execution.stopwatch import Stopwatch
from planezip.execution.storages import StorageState, StorageTable
from planezip.execution.tape import OPAQUE, Items, Operand, Tape, TapeOp, leaves, operands_in
from planezip.execution.verify import Trial

_NOT_OPERATORS = frozenset({"profiler", "prim"})
"""Namespaces of what computes nothing: markers, questions about tensors."""
_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})

OnOp = Callable[[int, float], None]


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Dispatch mode that puts every operator that computes something on a tape.

    Args:
        tape: what to write.
        on_op: called after every operator with its index and its duration in seconds.
        on_death: called with the number of a storage whose memory is gone.
        on_overwrite: called with a value that an operator has overwritten, and the tensor.

    Attributes:
        table: the storages met.
        paused: operators run unrecorded.
        stopwatch: runs while the pass does, and not while operators are unrecorded.
        verifies: every operator runs twice; what differs is not repeatable.
        meter: what counts memory, replays included, or None.
    """

    def __init__(
        self,
        tape: Tape,
        on_op: OnOp,
        on_death: Callable[[int], None] | None = None,
        on_overwrite: Callable[[int, torch.Tensor], None] | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tape = tape
        self.table = StorageTable(on_death)
        self.paused = False
        self.stopwatch = Stopwatch()
        self.verifies = False
        self.meter: Meter | None = None
        self._on_op, self._on_overwrite = on_op, on_overwrite
        self._latest_environment = tape.environment

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Compiled submodules run compiled; what they save comes from outside for this mode."""
        return True

    def __torch_dispatch__(
        self,
        func: OpOverload[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, HigherOrderOperator):
            return func(*args, **kwargs)
        if self.paused or func.namespace in _NOT_OPERATORS:
            return self._metered(func, func(*args, **kwargs))
        if not all(kind in _PLAIN for kind in types):
            return NotImplemented  # the subclass takes over, and its own operators come here
        schema = schema_of(func)
        if schema.is_view:
            return func(*args, **kwargs)
        if schema.changes_storage:
            out = func(*args, **kwargs)
            for tensor in tensors_in((*args, *kwargs.values())):
                self._lose_track(tensor)
            return out
        return self._record(func, schema, args, kwargs)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Operators in here are not recorded, nor is their time."""
        before = self.paused
        self.paused = True
        with self.stopwatch.stopped():
            try:
                yield
            finally:
                self.paused = before

    def _metered(self, func: OpOverload[..., Any], out: Any) -> Any:
        return out if self.meter is None else self.meter.see_result(func, out)

    def state(self, tensor: torch.Tensor) -> StorageState:
        """The state of a tensor's storage; one that nobody produced here existed before."""
        state = self.table.find(tensor)
        if state is None:
            nbytes = tensor.untyped_storage().nbytes()
            value = self.tape.new_value(self.table.count, nbytes, -1)
            value.external = True
            value.original = _without_graph(tensor)
            value.version = tensor._version
            value.weight = isinstance(tensor, torch.nn.Parameter) or isinstance(
                tensor._base, torch.nn.Parameter
            )
            state = self.table.enter(tensor, value.index, external=True)
        return state

    def _lose_track(self, tensor: torch.Tensor) -> None:
        """The tensor's shape, or its storage, was changed in place: nothing is known of it now."""
        if not is_plain(tensor):
            return
        state = self.state(tensor)
        state.fixed = True
        before = self.tape.values[state.value]
        before.superseded = True
        value = self.tape.new_value(state.number, tensor.untyped_storage().nbytes(), -1)
        value.repeatable = False
        state.value = value.index

    def _record(
        self,
        func: OpOverload[..., Any],
        schema: Schema,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        op = self._frozen(func, schema, args, kwargs)
        trial = self._trial(op, schema, args, kwargs) if self.verifies else None
        start = perf_counter()
        out = self._metered(func, func(*args, **kwargs))
        seconds = perf_counter() - start
        index = len(self.tape.ops)
        self.tape.ops.append(op)
        written = _written(schema, args, kwargs)
        self._bind(index, schema, written, schema.statistics(args), args, out)
        if trial is not None:
            with self.pause():
                repeatable = trial.succeeds(self.tape, written, out)
            for v in op.made:
                self.tape.values[v].repeatable &= repeatable
        self._on_op(index, seconds)
        return out

    def _frozen(
        self,
        func: OpOverload[..., Any],
        schema: Schema,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> TapeOp:
        statistics = schema.statistics(args)
        copied = schema.read_statistics(args)
        op = TapeOp(
            func,
            tuple(
                None if i in statistics else self._freeze(a.clone() if i in copied else a)
                for i, a in enumerate(args)
            ),
            {name: self._freeze(value) for name, value in kwargs.items()},
            grad_enabled=torch.is_grad_enabled(),
            environment=self._environment(),
        )
        operands = operands_in((*op.args, *op.kwargs.values()))
        op.reads = tuple(dict.fromkeys(o.value for o in operands))
        if schema.random:
            op.generator_state = generator_of(args, kwargs).get_state()
        return op

    def _environment(self) -> Environment:
        """The settings as they are; mostly those of the operator before."""
        now = Environment.now()
        if now != self._latest_environment:
            self._latest_environment = now
        return self._latest_environment

    def _freeze(self, argument: Any) -> Any:
        if isinstance(argument, torch.Tensor):
            if not is_plain(argument):
                return OPAQUE
            return Operand(self.state(argument).value, geometry_of(argument))
        if isinstance(argument, (list, tuple)):
            return Items(tuple(map(self._freeze, argument)))
        return argument

    def _trial(
        self, op: TapeOp, schema: Schema, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Trial | None:
        """What verifies the operator afterwards, if it may be repeated at all."""
        if not schema.repeatable or not self._inputs_are_sound(op, schema):
            return None
        tensors = [t for t in tensors_in((*args, *kwargs.values())) if is_plain(t)]
        values = [(self.state(t).value, t) for t in tensors]
        mutated = {self.state(t).value for t in _written(schema, args, kwargs)}
        with self.pause():
            return Trial(op, values, mutated)

    def _bind(
        self,
        index: int,
        schema: Schema,
        written: list[torch.Tensor],
        statistics: tuple[int, ...],
        args: tuple[Any, ...],
        out: Any,
    ) -> None:
        """Note which values the operator made."""
        op = self.tape.ops[index]
        repeatable = schema.repeatable and self._inputs_are_sound(op, schema)
        op.mutated = tuple(self._overwrite(t, index, repeatable, schema) for t in written)
        for position in statistics:
            if args[position] is not None:
                self._overwrite(args[position], index, False, schema)
        results = []
        for tensor in tensors_in(out):
            if not is_plain(tensor) or self.table.find(tensor) is not None:
                results.append(-1)
                continue
            nbytes = tensor.untyped_storage().nbytes()
            value = self.tape.new_value(self.table.count, nbytes, index)
            value.repeatable, value.defined = repeatable, not schema.undefined
            value.weight = bool(op.reads) and all(self.tape.values[v].weight for v in op.reads)
            self.table.enter(tensor, value.index, external=False)
            results.append(value.index)
        op.results = tuple(results)

    def _inputs_are_sound(self, op: TapeOp, schema: Schema) -> bool:
        """Whether what the operator reads is the same in every replay."""
        if any(leaf is OPAQUE for leaf in leaves((*op.args, *op.kwargs.values()))):
            return False
        values = [self.tape.values[v] for v in op.reads]
        if any(value.external and value.producer >= 0 for value in values):
            return False  # a buffer that this pass has written may be written again
        if any(value.producer < 0 and not value.external for value in values):
            return False  # its memory was changed in place
        return schema.overwrites or all(value.defined for value in values)

    def _overwrite(
        self, tensor: torch.Tensor, index: int, repeatable: bool, schema: Schema
    ) -> tuple[Operand, int]:
        state = self.state(tensor)
        before = self.tape.values[state.value]
        before.superseded = True
        value = self.tape.new_value(state.number, tensor.untyped_storage().nbytes(), index)
        value.external = state.external
        value.repeatable = repeatable and not state.external
        value.defined = before.defined or (schema.overwrites and covers_storage(tensor))
        state.value = value.index
        if self._on_overwrite is not None:
            self._on_overwrite(before.index, tensor)
        return Operand(before.index, geometry_of(tensor)), value.index


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor is strided, of torch's own class, with a storage and a version counter."""
    return (
        type(tensor) in _PLAIN
        and tensor.layout is torch.strided
        and not tensor.is_nested
        and not tensor.is_inference()
    )


def _without_graph(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without what computed it, which may hold what holds the tape; its version counter
    is shared, as below autograd it would not be by itself."""
    if tensor.grad_fn is None:
        return tensor
    included = torch._C._dispatch_tls_local_include_set()
    excluded = torch._C.DispatchKeySet(torch._C.DispatchKey.Python)
    with torch._C._ForceDispatchKeyGuard(included, excluded), torch.no_grad():
        return tensor.detach()


def covers_storage(tensor: torch.Tensor) -> bool:
    """Whether the tensor's elements are all of its storage."""
    return tensor.untyped_storage().nbytes() == tensor.nbytes


def _written(schema: Schema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """The tensors that the operator writes in place."""
    if not schema.mutated:
        return []
    named = [*zip(schema.arguments, args, strict=False), *kwargs.items()]
    found = [t for name, value in named if name in schema.mutated for t in tensors_in(value)]
    return [t for t in found if is_plain(t)]

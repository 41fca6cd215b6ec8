"""Writes the tape of a forward pass while it runs."""

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from planezip.execution.geometry import geometry_of
from planezip.execution.schema import Schema, schema_of, tensors_in
from planezip.execution.storages import StorageState, StorageTable
from planezip.execution.tape import Items, Operand, Tape, TapeOp

_NOT_OPERATORS = frozenset({"profiler", "prim"})
"""Namespaces of what computes nothing: markers, questions about tensors."""

OnOp = Callable[[int, float], None]


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Dispatch mode that puts every operator that computes something on a tape.

    Args:
        tape: what to write.
        on_op: called after every operator with its index and its duration in seconds.

    Attributes:
        table: the storages met.
        paused: operators run unrecorded.
    """

    def __init__(self, tape: Tape, on_op: OnOp) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tape = tape
        self.table = StorageTable()
        self.paused = False
        self._on_op = on_op

    def __torch_dispatch__(
        self,
        func: OpOverload[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if self.paused or func.namespace in _NOT_OPERATORS:
            return func(*args, **kwargs)
        if not all(kind in _PLAIN for kind in types):
            return NotImplemented  # the subclass takes over, and its own operators come here
        schema = schema_of(func)
        if schema.is_view:
            return func(*args, **kwargs)
        if schema.changes_storage:
            for tensor in tensors_in((*args, *kwargs.values())):
                self.state(tensor).fixed = True
            return func(*args, **kwargs)
        statistics = schema.statistics(args)
        op = TapeOp(
            func,
            tuple(None if i in statistics else self._freeze(a) for i, a in enumerate(args)),
            {name: self._freeze(value) for name, value in kwargs.items()},
            grad_enabled=torch.is_grad_enabled(),
        )
        op.reads = tuple(dict.fromkeys(o.value for o in operands_in((*op.args, op.kwargs.values()))))
        if schema.random:
            op.generator_state = generator_of(kwargs).get_state()
        start = perf_counter()
        out = func(*args, **kwargs)
        seconds = perf_counter() - start
        index = len(self.tape.ops)
        self.tape.ops.append(op)
        self._bind(index, op, schema, args, kwargs, out)
        self._on_op(index, seconds)
        return out

    def state(self, tensor: torch.Tensor) -> StorageState:
        """The state of a tensor's storage; one that nobody produced here existed before."""
        state = self.table.find(tensor)
        if state is None:
            nbytes = tensor.untyped_storage().nbytes()
            value = self.tape.new_value(self.table.count, nbytes, -1)
            value.external = True
            value.original = tensor
            value.version = tensor._version
            state = self.table.enter(tensor, value.index, external=True)
        return state

    def _freeze(self, argument: Any) -> Any:
        if isinstance(argument, torch.Tensor):
            if not is_plain(argument):
                return _OPAQUE
            return Operand(self.state(argument).value, geometry_of(argument))
        if isinstance(argument, (list, tuple)):
            return Items(tuple(map(self._freeze, argument)))
        return argument

    def _bind(
        self,
        index: int,
        op: TapeOp,
        schema: Schema,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        out: Any,
    ) -> None:
        """Note which values the operator made."""
        repeatable = schema.repeatable and self._inputs_are_sound(op, schema)
        written = [
            tensor
            for name, value in [*zip(schema.arguments, args, strict=False), *kwargs.items()]
            if name in schema.mutated
            for tensor in tensors_in(value)
        ]
        op.mutated = tuple(self._overwrite(t, index, repeatable, schema) for t in written if is_plain(t))
        for position in schema.statistics(args):
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
            self.table.enter(tensor, value.index, external=False)
            results.append(value.index)
        op.results = tuple(results)

    def _inputs_are_sound(self, op: TapeOp, schema: Schema) -> bool:
        """Whether what the operator reads is the same in every replay."""
        if any(o is _OPAQUE for o in leaves((*op.args, *op.kwargs.values()))):
            return False
        return schema.overwrites or all(self.tape.values[v].defined for v in op.reads)

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
        return Operand(before.index, geometry_of(tensor)), value.index


_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})
_OPAQUE = object()
"""Stands for a tensor that is no plain row of bytes; what is computed from it is not repeated."""


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor is strided, of torch's own class, and over a storage of its own."""
    return type(tensor) in _PLAIN and tensor.layout is torch.strided and not tensor.is_nested


def covers_storage(tensor: torch.Tensor) -> bool:
    """Whether the tensor's elements are all of its storage."""
    return tensor.untyped_storage().nbytes() == tensor.nbytes


def leaves(arguments: Iterable[Any]) -> Iterable[Any]:
    """All members of arguments, lists opened."""
    for argument in arguments:
        if isinstance(argument, Items):
            yield from leaves(argument.members)
        else:
            yield argument


def operands_in(arguments: Iterable[Any]) -> Iterable[Operand]:
    """The tensors among frozen arguments."""
    return (leaf for leaf in leaves(arguments) if isinstance(leaf, Operand))


def generator_of(kwargs: dict[str, Any]) -> torch.Generator:
    """The random generator that an operator called with these draws from."""
    given = kwargs.get("generator")
    return torch.default_generator if given is None else given

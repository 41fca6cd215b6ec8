"""What one forward pass computed, in a form that can be computed again.

Tensors come and go, alias one another and are written in place; what they hold are values. A value
is what a storage holds between two writes. With values a replay needs no views, since an operand
says how it lies in its storage, and in-place operators are assignments like any other.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch._ops import OpOverload

from planezip.execution.geometry import Geometry
from planezip.execution.guards import Environment


class Operand(NamedTuple):
    """A tensor argument: which value, lying how."""

    value: int
    geometry: Geometry


class Items(NamedTuple):
    """A list argument."""

    members: tuple[Any, ...]


OPAQUE = object()
"""Stands for a tensor that is no plain row of bytes; what is computed from it is not repeated."""


def leaves(arguments: Iterable[Any]) -> Iterator[Any]:
    """All members of arguments, lists opened."""
    for argument in arguments:
        if isinstance(argument, Items):
            yield from leaves(argument.members)
        else:
            yield argument


def operands_in(arguments: Iterable[Any]) -> Iterator[Operand]:
    """The tensors among arguments on a tape."""
    return (leaf for leaf in leaves(arguments) if isinstance(leaf, Operand))


@dataclass(slots=True, eq=False)
class Value:
    """What a storage holds from one write to the next.

    Attributes:
        index: its place in Tape.values.
        storage: number of the storage, by the order in which the forward pass met them.
        nbytes: size of the storage.
        producer: index in Tape.ops of the operator that wrote it, -1 if it existed before.
        external: its storage existed before the forward pass: parameters, buffers, the batch.
        repeatable: a replay may compute it, as far as its own operator is concerned.
        defined: its contents are the same every time; those of `empty` are not.
        original: for an external value, a tensor that keeps the storage and its version counter.
        version: that counter when the forward pass read it first.
        superseded: its storage has been written since.
        weight: parameters alone decide it: a transposed or cast copy of one.
    """

    index: int
    storage: int
    nbytes: int
    producer: int
    external: bool = False
    repeatable: bool = True
    defined: bool = True
    original: torch.Tensor | None = None
    version: int = 0
    superseded: bool = False
    weight: bool = False


@dataclass(slots=True, eq=False)
class TapeOp:
    """One operator that computed something.

    Attributes:
        args, kwargs: as given, with Operand and Items in the place of tensors and lists.
        reads: values that it needs, without repetition.
        results: for every tensor among its results, in order, the value it is, -1 if it is a view.
        mutated: (operand, value that it became) of every argument written in place.
        grad_enabled: grad mode.
        environment: the settings under which it ran.
        generator_state: of the generator that it draws from, None if it draws from none.
    """

    func: OpOverload[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    environment: Environment
    reads: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    mutated: tuple[tuple[Operand, int], ...] = ()
    grad_enabled: bool = True
    generator_state: torch.Tensor | None = None

    @property
    def made(self) -> tuple[int, ...]:
        """The values that it wrote."""
        return (*(new for _, new in self.mutated), *(v for v in self.results if v >= 0))


@dataclass(slots=True, eq=False)
class Tape:
    """The operators and values of one forward pass.

    Attributes:
        environment: the settings under which it began.
        accumulates: parameters have gradients when it begins, so that its own are temporaries that
            are added to them.
    """

    ops: list[TapeOp] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    environment: Environment = field(default_factory=Environment.now)
    accumulates: bool = False

    def new_value(self, storage: int, nbytes: int, producer: int) -> Value:
        """Append a value."""
        value = Value(len(self.values), storage, nbytes, producer)
        self.values.append(value)
        return value

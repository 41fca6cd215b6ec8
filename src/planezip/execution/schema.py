"""What an operator's schema says of a call: which arguments it writes, whether it may run again."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

_OVERWRITES = frozenset(
    {"copy_", "zero_", "fill_", "_foreach_copy_", "_foreach_zero_", "bernoulli_", "cauchy_"}
    | {"exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"}
)
_UNDEFINED = ("empty", "new_empty")

# Batch norms that update their running statistics (arguments 3 and 4) without declaring it if they
# train (argument 5).
_BATCH_NORMS = frozenset({"native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm"})
_STATISTICS, _TRAINS = (3, 4), 5


@dataclass(frozen=True, slots=True)
class Schema:
    """The parts of an operator's schema that a tape needs.

    Attributes:
        arguments: names by position.
        mutated: names of the arguments that it declares to write.
        overwrites: it sets what it mutates without reading it.
        undefined: what it returns holds nothing in particular, e.g. "empty".
        is_view: it returns views alone.
        changes_storage: it changes the shape or storage of an argument in place, e.g. "set_".
        random: it draws from a random generator.
        numbers: positions and names of the arguments that it computes with, if they are numbers:
            not sizes and flags.
        repeatable: nothing but its arguments and the generator decides what it computes, and it
            writes what it declares alone. That is known of torch's own operators only: collective,
            sharding and custom operators may do anything.
    """

    arguments: tuple[str, ...]
    mutated: frozenset[str]
    overwrites: bool
    undefined: bool
    is_view: bool
    changes_storage: bool
    random: bool
    repeatable: bool
    batch_norm: bool
    numbers: frozenset[str | int]

    def statistics(self, args: tuple[Any, ...]) -> tuple[int, ...]:
        """Positions of the running statistics that a call updates, which no replay may."""
        return _STATISTICS if self.batch_norm and args[_TRAINS] else ()

    def read_statistics(self, args: tuple[Any, ...]) -> tuple[int, ...]:
        """Positions of the running statistics that a call reads. They are changed without a new
        version, so that a replay would not notice; they are small."""
        if not self.batch_norm or args[_TRAINS]:
            return ()
        return tuple(i for i in _STATISTICS if args[i] is not None)


@cache
def schema_of(func: OpOverload[..., Any]) -> Schema:
    """Read an operator's schema and tags."""
    schema = func._schema
    base = schema.name.split("::")[1]
    written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    return Schema(
        arguments=tuple(a.name for a in schema.arguments),
        mutated=frozenset(a.name for a in written),
        overwrites=base in _OVERWRITES or any(a.is_out for a in written),
        undefined=base.startswith(_UNDEFINED),
        is_view=bool(func.is_view) and not written,
        changes_storage=torch.Tag.inplace_view in func.tags,
        random=torch.Tag.nondeterministic_seeded in func.tags,
        repeatable=func.namespace == "aten",
        batch_norm=base in _BATCH_NORMS,
        numbers=frozenset(
            key
            for position, a in enumerate(schema.arguments)
            for key in (position, a.name)
            if str(a.type).removeprefix("Optional[").rstrip("]") in ("number", "float", "Tensor")
        ),
    )


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of an argument or result: itself, or the members of a list or tuple."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def generator_of(args: Iterable[Any], kwargs: dict[str, Any]) -> torch.Generator:
    """The random generator that an operator called with these draws from."""
    given = (a for a in (*args, *kwargs.values()) if isinstance(a, torch.Generator))
    return next(given, torch.default_generator)

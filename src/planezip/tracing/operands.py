"""What one operator call reads and writes, according to its schema."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

# In-place operators that set every element of their destination without looking at it.
_OVERWRITES = frozenset(
    {"copy_", "zero_", "fill_", "_foreach_copy_", "_foreach_zero_", "bernoulli_", "cauchy_"}
    | {"exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"}
)
# Operators that read as much of one argument as they write, however large the argument is.
_GATHERS = {"embedding": "weight", "index_select": "self", "gather": "self", "index": "self"}


@dataclass(frozen=True, slots=True)
class Signature:
    """The parts of an operator's schema that matter here.

    Attributes:
        base: name without namespace and overload, e.g. "add_".
        arguments: names of the arguments, positional ones first.
        mutated: names of the arguments that it declares to write.
        overwrites: it sets the arguments that it writes without reading them.
        reads_nothing: it looks only at the shape and type of its arguments, e.g. "ones_like".
        touches_nothing: it does not even write what it returns, e.g. "empty".
        gathers: name of the argument of which it reads only what it returns, or "".
        changes_view: it changes shape or storage of a tensor in place, e.g. "resize_".
        is_view: by its schema it returns nothing but views.
        random: it draws from a random generator.
    """

    base: str
    arguments: tuple[str, ...]
    mutated: frozenset[str]
    overwrites: bool
    reads_nothing: bool
    touches_nothing: bool
    gathers: str
    changes_view: bool
    is_view: bool
    random: bool


@cache
def signature(func: OpOverload[..., Any]) -> Signature:
    """Read an operator's schema and tags.

    Mutations that a schema does not declare, such as batch norm's update of its running
    statistics, are not seen; among torch's own operators they concern buffers only.
    """
    schema = func._schema
    base = schema.name.split("::")[1]
    changes_view = torch.Tag.inplace_view in func.tags
    mutated = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    return Signature(
        base=base,
        arguments=tuple(a.name for a in schema.arguments),
        mutated=frozenset() if changes_view else frozenset(a.name for a in mutated),
        overwrites=base in _OVERWRITES or any(a.is_out for a in mutated),
        reads_nothing=base.endswith("_like") or base.startswith("new_"),
        touches_nothing=base.startswith(("empty", "new_empty")),
        gathers=_GATHERS.get(base, ""),
        changes_view=changes_view,
        is_view=bool(func.is_view),
        random=torch.Tag.nondeterministic_seeded in func.tags,
    )


@dataclass(frozen=True, slots=True)
class Operands:
    """The tensors among the arguments of one call.

    Attributes:
        read: tensors whose contents it reads, those that it updates in place included.
        gathered: tensors of which it reads only as many bytes as it returns.
        written: tensors that it writes in place.
    """

    read: tuple[torch.Tensor, ...]
    gathered: tuple[torch.Tensor, ...]
    written: tuple[torch.Tensor, ...]


def operands(
    sig: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], covers: Callable[[Any], bool]
) -> Operands:
    """Sort the tensors of a call, lists of tensors included, into read and written.

    A destination that is overwritten counts as read if it is a part of its storage: the rest of
    the storage keeps what it held. `covers` says whether a tensor covers its storage.
    """
    read: list[torch.Tensor] = []
    gathered: list[torch.Tensor] = []
    written: list[torch.Tensor] = []
    for name, value in [*zip(sig.arguments, args, strict=False), *kwargs.items()]:
        for tensor in tensors_in(value):
            if name in sig.mutated:
                written.append(tensor)
                if not (sig.overwrites and covers(tensor)):
                    read.append(tensor)
            elif name == sig.gathers:
                gathered.append(tensor)
            elif not sig.reads_nothing:
                read.append(tensor)
    return Operands(tuple(read), tuple(gathered), tuple(written))


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of an argument or result: itself, or the members of a list or tuple."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)

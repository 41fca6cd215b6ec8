"""A user's own model: a function in a Python file that makes it and its loss."""

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from planezip.errors import InputError
from planezip.units import MOST_BYTES
from planezip.workloads.blame import blamed
from planezip.workloads.calls import call, check_needs, parameters
from planezip.workloads.dataless import dataless
from planezip.workloads.seeds import seeded

LEARNING_RATE = 1e-3
_CONTRACT = "return a torch.nn.Module and a function that computes its loss"


@dataclass(frozen=True)
class UserModel:
    """What a user's function made.

    Attributes:
        model: has parameters to train.
        loss: computes the scalar loss of a training step, counted from 0.
        batch: items in a batch, 1 if the function does not say.
        by_step: the user's loss is told the step, so that it can bring the step's data.
    """

    model: torch.nn.Module
    loss: Callable[[int], torch.Tensor]
    batch: int
    by_step: bool

    @cached_property
    def optimizer(self) -> torch.optim.Optimizer:
        """Plain SGD, one update operator for every parameter tensor."""
        trained = [p for p in self.model.parameters() if p.requires_grad]
        return torch.optim.SGD(trained, lr=LEARNING_RATE, foreach=False)


@dataclass(frozen=True)
class UserStep:
    """`file.py:function`, where the function returns `(model, compute_loss)`.

    `compute_loss()` computes the scalar loss of one training step, on the data that it brings
    along. If it has a parameter `step`, it is told the number of the step; if the function has a
    parameter `batch`, it is told how many items a step is to have.

    Attributes:
        path: the file.
        function: name of the function.
    """

    path: Path
    function: str

    @property
    def name(self) -> str:
        """What traces and captures call the model."""
        return f"{self.path.name}:{self.function}"

    def make(self, batch: int | None = None, seed: int = 0) -> UserModel:
        """Call the function, with random numbers that depend on the seed.

        Raises:
            InputError: the file or function is not there, fails, or returns something else; it
                takes no batch and one is given, or its own is no size; or it or the loss needs
                more than it is told.
        """
        with self.blamed(), seeded(seed):
            maker = self._maker()
            check_needs(maker, self.name, "batch")
            options, size = self._batch(maker, batch)
            made = call(maker, **options)
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise InputError(f"{self.name} returned {_kind(made)}; {_CONTRACT}")
        model, compute_loss = made
        if not isinstance(model, torch.nn.Module):
            raise InputError(f"{self.name} returned {_kind(model)} as the model; {_CONTRACT}")
        if not callable(compute_loss):
            raise InputError(f"{self.name} returned {_kind(compute_loss)} as the loss; {_CONTRACT}")
        self._check_parameters(model)
        check_needs(compute_loss, f"the function that computes the loss of {self.name}", "step")
        if "step" not in parameters(compute_loss):
            return UserModel(model, lambda step: call(compute_loss), size, by_step=False)
        return UserModel(model, lambda step: call(compute_loss, step=step), size, by_step=True)

    @contextmanager
    def without_data(self, batch: int | None = None) -> Iterator[UserModel]:
        """Like `make`, of tensors that have shapes but no contents, inside this context alone."""
        with dataless():
            yield self.make(batch)

    def blamed(self) -> AbstractContextManager[None]:
        """Makes one line of what goes wrong in the user's code, or in torch because of it."""
        return blamed(self.name, self.path)

    def module(self) -> ModuleType:
        """The file as a module, executed anew; InputError if there is none."""
        if not self.path.is_file():
            missing = "it is no regular file" if self.path.exists() else "there is no such file"
            raise InputError(f"cannot read {self.path}: {missing}")
        # A name of its own, so that the file can be called like a library.
        name = f"planezip_user_{self.path.stem}"
        spec = spec_from_file_location(name, os.path.abspath(self.path))
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = module_from_spec(spec)
        folder = str(self.path.resolve().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)  # as for a program: modules beside it can be imported
        spec.loader.exec_module(module)
        return module

    def _maker(self) -> Callable[..., Any]:
        maker: Any = getattr(self.module(), self.function, None)
        if not callable(maker):
            raise InputError(
                f"{self.path} has no function {self.function}; define it, or name another"
            )
        found: Callable[..., Any] = maker
        return found

    def _batch(self, maker: Callable[..., Any], batch: int | None) -> tuple[dict[str, int], int]:
        """What to call the function with, and the items in a batch."""
        parameter = parameters(maker).get("batch")
        if parameter is None:
            if batch is not None:
                raise InputError(
                    f"{self.name} has no parameter batch; add one, or leave out --batch"
                )
            return {}, 1
        if batch is not None:
            return {"batch": batch}, batch
        size = parameter.default
        if size is parameter.empty:
            raise InputError(f"{self.name} needs a batch; give its parameter a default, or --batch")
        if type(size) is not int or not 1 <= size <= MOST_BYTES:
            found = size if isinstance(size, (int, float)) else _kind(size)
            raise InputError(
                f"{self.name} has {found} as the default of its parameter batch; "
                "make it a whole number above 0, or give --batch"
            )
        return {}, size

    def _check_parameters(self, model: torch.nn.Module) -> None:
        state = (*model.named_parameters(), *model.named_buffers())
        lazy = [name for name, tensor in state if torch.nn.parameter.is_lazy(tensor)]
        if lazy:
            raise InputError(
                f"the model of {self.name} has lazy layers, whose sizes are not known yet, such as "
                f"that of {lazy[0]}; give the sizes: nn.Linear in place of nn.LazyLinear"
            )
        if not any(p.requires_grad for p in model.parameters()):
            raise InputError(f"the model of {self.name} has no parameters to train")


def user_step(name: str) -> UserStep | None:
    """What a name such as "my_file.py:make_step" stands for; None if it is no such name.

    InputError if it names a file and no function.
    """
    file, colon, function = name.rpartition(":")
    if colon and file.endswith(".py"):
        if not function.strip():
            raise InputError(
                f"{name} names no function after the colon; write for example {file}:make_step"
            )
        return UserStep(Path(file), function)
    if name.endswith(".py"):
        raise InputError(f"{name} is a file; name a function in it: {name}:make_step")
    return None


def _kind(value: object) -> str:
    if inspect.iscoroutine(value):
        value.close()  # nobody will wait for it
        return "a coroutine, as an async function does"
    if isinstance(value, (tuple, list)):
        return f"{len(value)} values"
    return "None" if value is None else f"something of type {type(value).__name__}"

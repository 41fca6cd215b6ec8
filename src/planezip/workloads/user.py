"""A user's own model: a function in a Python file that makes it and its loss."""

import inspect
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from planezip.errors import InputError, PlaneZipError

LEARNING_RATE = 1e-3
_CONTRACT = "return a torch.nn.Module and a function without arguments that computes its loss"


@dataclass(frozen=True)
class UserStep:
    """`file.py:function`, where the function returns `(model, compute_loss)`.

    `compute_loss()` computes the scalar loss of one training step, on the data that it brings
    along. If the function has a parameter `batch`, it says how many items those are to be.

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

    def make(
        self, batch: int | None = None, seed: int = 0
    ) -> tuple[torch.nn.Module, Callable[[], torch.Tensor], int]:
        """The model, its loss, and the items in a batch (1 if the function does not say).

        Raises:
            InputError: the file or function is not there, fails, or returns something else; or it
                takes no batch and one is given.
        """
        with self.blamed():
            maker = self._maker()
            options, size = self._batch(maker, batch)
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                made = maker(**options)
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise InputError(f"{self.name} returned {_kind(made)}; {_CONTRACT}")
        model, compute_loss = made
        if not isinstance(model, torch.nn.Module):
            raise InputError(f"{self.name} returned {_kind(model)} as the model; {_CONTRACT}")
        if not callable(compute_loss):
            raise InputError(f"{self.name} returned {_kind(compute_loss)} as the loss; {_CONTRACT}")
        if not any(p.requires_grad for p in model.parameters()):
            raise InputError(f"the model of {self.name} has no parameters to train")
        return model, compute_loss, size

    @contextmanager
    def without_data(
        self, batch: int | None = None
    ) -> Iterator[tuple[torch.nn.Module, Callable[[], torch.Tensor], int]]:
        """Like `make`, of tensors that have shapes but no contents, inside this context alone."""
        # Fake tensors say that they are on the CPU, so that the user's code may know no other.
        with _quiet(), FakeTensorMode(allow_non_fake_inputs=True):
            yield self.make(batch)

    def train(
        self,
        compute_loss: Callable[[], torch.Tensor],
        optimizer: torch.optim.Optimizer,
        steps: int,
        on_step: Callable[[int], None],
    ) -> None:
        """Train for some steps; `on_step` is told how many are done."""
        for done in range(1, steps + 1):
            optimizer.zero_grad(set_to_none=True)
            loss = compute_loss()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            on_step(done)

    def optimizer(self, model: torch.nn.Module) -> torch.optim.Optimizer:
        """Plain SGD, one update operator for every parameter tensor."""
        trained = [p for p in model.parameters() if p.requires_grad]
        return torch.optim.SGD(trained, lr=LEARNING_RATE, foreach=False)

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Makes one line of what goes wrong in the user's code, or in torch because of it."""
        try:
            yield
        except PlaneZipError:
            raise
        except (Exception, SystemExit) as error:
            line = self._line(error)
            if line is None and not _is_torchs(error):
                raise
            where = f"{self.path}, line {line}" if line else "in the backward pass or the optimizer"
            raise InputError(f"{self.name} failed: {where}: {_told(error)}") from error

    def _maker(self) -> Callable[..., Any]:
        maker: Any = getattr(self._module(), self.function, None)
        if not callable(maker):
            raise InputError(
                f"{self.path} has no function {self.function}; define it, or name another"
            )
        found: Callable[..., Any] = maker
        return found

    def _module(self) -> ModuleType:
        if not self.path.is_file():
            raise InputError(f"cannot read {self.path}: there is no such file")
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

    def _batch(self, maker: Callable[..., Any], batch: int | None) -> tuple[dict[str, int], int]:
        """What to call the function with, and the items in a batch."""
        parameter = inspect.signature(maker).parameters.get("batch")
        if parameter is None:
            if batch is not None:
                raise InputError(
                    f"{self.name} has no parameter batch; add one, or leave out --batch"
                )
            return {}, 1
        if batch is not None:
            return {"batch": batch}, batch
        if not isinstance(parameter.default, int):
            raise InputError(f"{self.name} needs a batch; give its parameter a default, or --batch")
        return {}, parameter.default

    def _line(self, error: BaseException) -> int | None:
        """The innermost line of the user's file that led to the error."""
        file = os.path.abspath(self.path)
        if isinstance(error, SyntaxError) and error.filename == file:
            return error.lineno
        lines = [
            line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == file
        ]
        return lines[-1] if lines else None


def user_step(name: str) -> UserStep | None:
    """What a name such as "my_file.py:make_step" stands for; None if it is no such name."""
    file, colon, function = name.rpartition(":")
    if colon and file.endswith(".py"):
        return UserStep(Path(file), function)
    if name.endswith(".py"):
        raise InputError(f"{name} is a file; name a function in it: {name}:make_step")
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps torch from logging tracebacks of the mistakes that `blamed` tells in one line."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = disabled


def _is_torchs(error: BaseException) -> bool:
    """Whether torch raised it, as its backward pass does, and not a defect of this package."""
    files = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
    return (
        isinstance(error, RuntimeError) and Path(torch.__file__).parent in Path(files[-1]).parents
    )


def _told(error: BaseException) -> str:
    """Kind and first line of an error."""
    if type(error).__name__ in ("DataDependentOutputException", "DynamicOutputShapeException"):
        return f"it looks at the values of a tensor ({error}), but a trace has shapes alone"
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _kind(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return f"{len(value)} values"
    return "None" if value is None else f"something of type {type(value).__name__}"

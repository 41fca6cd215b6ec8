"""Runs something around the next backward pass, whoever starts it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from torch.autograd import Variable

_Engine = type(Variable._execution_engine)

Around = Callable[[], AbstractContextManager[Any]]


class _WatchedEngine(_Engine):  # type: ignore[misc,valid-type]
    """Autograd's engine, with a context manager around its next run.

    A dispatch mode that is to see backward must be active when the engine starts: every node runs
    in the state that the thread had then, so it cannot be switched on from within.
    """

    def __init__(self, around: Around) -> None:
        super().__init__()
        self._around: Around | None = around

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        around, self._around = self._around, None
        Variable._execution_engine = _plain
        if around is None:
            return super().run_backward(*args, **kwargs)
        with around():
            return super().run_backward(*args, **kwargs)


_plain = Variable._execution_engine


def watch_next_backward(around: Around) -> None:
    """Let the next backward pass of this process run inside `around()`."""
    Variable._execution_engine = _WatchedEngine(around)


def stop_watching() -> None:
    """Forget it, if no backward pass has come."""
    Variable._execution_engine = _plain

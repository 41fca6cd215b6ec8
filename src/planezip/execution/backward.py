"""Runs something around the next backward pass, whoever starts it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from threading import get_ident
from typing import Any

from torch.autograd import Variable

_Engine = type(Variable._execution_engine)

Around = Callable[[], AbstractContextManager[Any]]


class _WatchedEngine(_Engine):  # type: ignore[misc,valid-type]
    """Autograd's engine, with context managers around the next run that a thread starts.

    A dispatch mode that is to see backward must be active when the engine starts: every node runs
    in the state that the thread had then, so it cannot be switched on from within.
    """

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        with ExitStack() as stack:
            for around in _taken(get_ident()):
                stack.enter_context(around())
            return super().run_backward(*args, **kwargs)


_plain = Variable._execution_engine
_watched = _WatchedEngine()
_waiting: dict[int, list[Around]] = {}  # thread -> what its next backward pass runs in


def watch_next_backward(around: Around) -> None:
    """Let the next backward pass that this thread starts run inside `around()`."""
    _waiting.setdefault(get_ident(), []).append(around)
    Variable._execution_engine = _watched


def stop_watching(around: Around) -> None:
    """Forget it, if no backward pass has come."""
    for thread, waiting in list(_waiting.items()):
        _keep(thread, [a for a in waiting if a is not around])


def _taken(thread: int) -> list[Around]:
    taken = _waiting.get(thread, [])
    _keep(thread, [])
    return taken


def _keep(thread: int, waiting: list[Around]) -> None:
    if waiting:
        _waiting[thread] = waiting
    else:
        _waiting.pop(thread, None)
    if not _waiting:
        Variable._execution_engine = _plain

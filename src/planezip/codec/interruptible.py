"""Long calls into other libraries and the system, made so that Ctrl-C is answered at once."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")

_TURN_S = 0.1


def interruptible(call: Callable[[], Result], watch: Callable[[], object] = lambda: None) -> Result:
    """The result of a call that lets other threads run, but looks for no signals until it is over.

    A thread makes the call; the caller's waits for it, and calls `watch` ten times a second. If the
    waiting is interrupted, the call is abandoned: it ends when it ends, or with the process, and
    nobody learns how. Whatever it uses must be kept alive by `call` itself.
    """
    outcome: Future[Result] = Future()

    def work() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # the waiting thread raises it
            outcome.set_exception(error)

    Thread(target=work, daemon=True).start()
    while wait([outcome], _TURN_S).not_done:
        watch()
    return outcome.result()

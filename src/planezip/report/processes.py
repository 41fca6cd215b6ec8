"""Work spread over processes that end when their parent does."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from planezip.errors import WorkerError

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(work: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    """Call `work` on every item in `workers` processes; results come in the order of the items.

    `work` travels to each process once, with whatever it is bound to. What it raises is raised
    here; work that has not begun by then is dropped.

    Raises:
        WorkerError: a process was ended from outside, such as by a system without memory.
    """
    # A fork of a process that runs torch's threads can deadlock; a fresh one cannot.
    with ProcessPoolExecutor(
        max(1, min(workers, len(items))),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(work,),
    ) as pool:
        try:
            with _interrupts_wait():
                results = pool.map(_call, items)
            yield from results
        except BrokenProcessPool as error:
            raise WorkerError from error
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C is acted upon afterwards, and never seen by the processes that are started here."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Ctrl-C reaches the main thread alone
        return
    seen: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # is inherited
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
    if seen:
        raise KeyboardInterrupt


_work: Callable[[Any], Any]


def _start(work: Callable[[Any], Any]) -> None:
    global _work  # noqa: PLW0603 - a worker's only state, set once
    _work = work
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call(item: Any) -> Any:
    return _work(item)

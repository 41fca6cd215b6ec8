"""Calls that look for no signals are waited for by a thread that does."""

import _thread
import threading

import pytest

from planezip.codec.interruptible import interruptible


def test_results_and_errors_are_those_of_the_call():
    assert interruptible(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)
    with pytest.raises(TimeoutError):
        interruptible(lambda: (_ for _ in ()).throw(TimeoutError))


def test_the_caller_is_interrupted_while_the_call_goes_on():
    begun, end, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        end.wait()
        ended.set()

    def watch() -> None:
        if begun.is_set():
            _thread.interrupt_main()

    with pytest.raises(KeyboardInterrupt):
        interruptible(call, watch)
    assert not ended.is_set()
    end.set()
    assert ended.wait(60)

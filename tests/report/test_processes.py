"""Work in several processes: in order, errors passed on, nothing left running."""

import signal
import subprocess
import sys
import threading

import pytest

from planezip.errors import WorkerError
from planezip.report import processes
from planezip.report.processes import spread

LEAVE_WORKERS = """
import os, signal, time
from planezip.report.processes import spread
if __name__ == "__main__":
    results = spread(time.sleep, [0, 3600], 2)
    next(results)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_results_come_in_order():
    assert list(spread(abs, range(-20, 0), workers=2)) == list(range(20, 0, -1))


def test_there_may_be_nothing_to_do():
    assert list(spread(abs, [], workers=2)) == []


def test_what_the_work_raises_is_raised():
    with pytest.raises(ValueError, match="'three'"):
        list(spread(int, ["1", "2", "three", "4"], workers=2))


def test_threads_other_than_the_main_one_can_spread_work():
    results = []
    thread = threading.Thread(target=lambda: results.extend(spread(abs, [1, -4], workers=2)))
    thread.start()
    thread.join()
    assert results == [1, 4]


def test_an_interrupt_waits_until_the_processes_are_started():
    handler = signal.getsignal(signal.SIGINT)
    reached = []

    def start() -> None:
        with processes._interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize("unlucky", [0, 3])
def test_a_worker_that_is_killed_is_told_with_what_to_do(unlucky):
    signals = [signal.SIGCHLD] * 4  # is ignored
    signals[unlucky] = signal.SIGKILL
    with pytest.raises(WorkerError, match="perhaps memory ran out; use fewer processes: --jobs"):
        list(spread(signal.raise_signal, signals, workers=2))


def test_workers_end_with_their_parent(tmp_path):
    (tmp_path / "leave.py").write_text(LEAVE_WORKERS)
    command = [sys.executable, tmp_path / "leave.py"]
    # Returns when the last process that holds the pipes has ended, long before the sleeper would.
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr

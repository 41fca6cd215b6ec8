"""What all tests share: the toy network's trace and capture, and a Ctrl-C that works."""

import signal

import pytest

from planezip.records import Capture, Trace
from toynet import build_capture, build_trace

# Shells start background jobs with Ctrl-C ignored, and their children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def trace() -> Trace:
    return build_trace()


@pytest.fixture(scope="session")
def capture(trace: Trace) -> Capture:
    return build_capture(trace)

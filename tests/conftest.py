"""The toy network's trace and capture, for every test that needs some."""

import pytest

from planezip.records import Capture, Trace
from toynet import build_capture, build_trace


@pytest.fixture(scope="session")
def trace() -> Trace:
    return build_trace()


@pytest.fixture(scope="session")
def capture(trace: Trace) -> Capture:
    return build_capture(trace)

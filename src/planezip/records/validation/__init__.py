"""What a record says must hold together before anything is computed from it.

A file may have been cut, edited or made by something else. The checks raise InputError with one
line about the first thing wrong; whoever reads a file adds its name.
"""

from collections.abc import Callable
from typing import Any

from planezip.records.capture import Capture
from planezip.records.plan import Plan
from planezip.records.timeline import Timeline
from planezip.records.trace import Trace
from planezip.records.validation.capture import validate_capture
from planezip.records.validation.plan import fits, validate_plan, validate_timeline
from planezip.records.validation.trace import validate_trace

__all__ = ["fits", "validate"]

_CHECKS: dict[type, Callable[[Any], None]] = {
    Trace: validate_trace,
    Capture: validate_capture,
    Plan: validate_plan,
    Timeline: validate_timeline,
}


def validate(record: object) -> None:
    """InputError if a trace, capture, plan or timeline contradicts itself; others pass."""
    if check := _CHECKS.get(type(record)):
        check(record)

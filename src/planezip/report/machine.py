"""The machine that a result comes from; see `planezip.records.machine`."""

from planezip.records.machine import Machine, this_machine

__all__ = ["Machine", "this_machine"]

"""One plan per operator sequence, for models whose sequence changes (paper V-F)."""

from collections import OrderedDict
from dataclasses import dataclass

from planezip.records import Plan, Platform, Trace

Key = tuple[str, Platform, int]  # signature of the operator sequence, platform, budget in bytes


@dataclass(frozen=True, slots=True)
class CacheReport:
    """How often a sequence's plan was there, was not, and had to make room for another."""

    hits: int
    misses: int
    removed: int


class PlanCache:
    """Plans by operator sequence, platform and budget; the least recently used one makes room.

    Args:
        capacity: the most plans to hold; one of a usual model takes about a megabyte.
    """

    def __init__(self, capacity: int = 64) -> None:
        if capacity < 1:
            raise ValueError(f"a cache of {capacity} plans holds none")
        self._capacity = capacity
        self._plans: OrderedDict[Key, Plan] = OrderedDict()
        self._hits = self._misses = self._removed = 0

    def get(self, trace: Trace, platform: Platform, budget_bytes: int) -> Plan | None:
        """The plan of a sequence, None if it has none yet."""
        key = (trace.signature, platform, budget_bytes)
        if key not in self._plans:
            self._misses += 1
            return None
        self._hits += 1
        self._plans.move_to_end(key)
        return self._plans[key]

    def put(self, trace: Trace, platform: Platform, plan: Plan) -> None:
        """Keep a plan of a sequence for its budget."""
        key = (trace.signature, platform, plan.budget_bytes)
        self._plans[key] = plan
        self._plans.move_to_end(key)
        if len(self._plans) > self._capacity:
            self._plans.popitem(last=False)
            self._removed += 1

    @property
    def report(self) -> CacheReport:
        return CacheReport(self._hits, self._misses, self._removed)

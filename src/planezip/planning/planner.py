"""What all plans for one trace on one platform share."""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType

from planezip.planning.draft import Draft, HostPool
from planezip.planning.layout import Layout
from planezip.planning.problem import Problem
from planezip.planning.replay import ReplayCosts
from planezip.records import Plan


class Planner:
    """Shared state of all plans for one (trace, platform): what every candidate starts from.

    Args:
        kept: what a replay recomputes stays until its own last use, unless the plan frees it for
            want of memory. The paper's planner frees it after the replay.
        in_place: tensors may be compressed in place, which is beyond the paper.
        pool: what bounds the swaps, None if nothing does.

    Attributes:
        alternatives: the planners among whose plans the fastest is kept: with `kept`, the one that
            lets nothing stay as well.
        unaware: budget -> the plan that is fastest where nothing compresses, once it is known.
    """

    def __init__(
        self,
        problem: Problem,
        kept: bool = False,
        in_place: bool = False,
        pool: HostPool | None = None,
    ) -> None:
        self.problem = problem
        self.kept, self.in_place, self.pool = kept, in_place, pool
        self.layout = Layout(problem)
        self._costs = ReplayCosts(problem, kept)
        self.alternatives = (self, Planner(problem, False, in_place, pool)) if kept else (self,)
        self.unaware: dict[int, Plan | None] = {}

    @cached_property
    def keeping(self) -> "Planner":
        """The planner with `kept` for the same problem."""
        return self if self.kept else Planner(self.problem, True, self.in_place, self.pool)

    @cached_property
    def compressing(self) -> "Planner":
        """The planner with `in_place` for the same problem."""
        return self if self.in_place else Planner(self.problem, self.kept, True, self.pool)

    def can_drop(self, t: int) -> bool:
        """Whether t can be replayed at all."""
        return self._costs.can_drop(t)

    def draft(self, ratios: Mapping[int, float] = MappingProxyType({})) -> Draft:
        """A draft that keeps everything."""
        return Draft(self.problem, self._costs.copy(), ratios, self.pool)

    def copy_s(self, t: int, ratio: float) -> tuple[float, float]:
        """Seconds of t's swap-out and swap-in (Eq. 2) at a compression ratio."""
        p, size = self.problem.platform, self.problem.bytes[t]
        return p.copy_s(size, ratio, p.d2h_bytes_per_s), p.copy_s(size, ratio, p.h2d_bytes_per_s)

    def compress_s(self, t: int) -> tuple[float, float]:
        """Seconds to compress t in place and to decompress it."""
        return self.problem.platform.compress_s(self.problem.bytes[t])

    def recompute_s(self, t: int) -> float:
        """Seconds to replay t when nothing else is dropped; endless if it cannot be replayed."""
        return self._costs.seconds(t) if self._costs.can_drop(t) else float("inf")

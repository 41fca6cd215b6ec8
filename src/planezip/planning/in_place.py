"""Plans that compress tensors in device memory, beyond the paper: the step that it names last.

What is compressed in place gives back the bytes that it saves, takes the engines' time on both copy
queues and no link's, and is exact whatever it would cost to recompute.
"""

from collections.abc import Iterator, Mapping

from planezip.planning.algorithm1 import CopyQueues, Link, cover_deficit, fill_engines, fill_link
from planezip.planning.draft import Draft
from planezip.planning.planner import Planner
from planezip.planning.problem import Candidate
from planezip.planning.recipes import RANKINGS, Recipe, algorithm1_recipes, transfer_cost_s
from planezip.records import compressed_bytes

# Compressed sizes in memory are predictions, and no copy makes good what they lack: so much of the
# budget is left for what the next iteration compresses worse.
MARGIN = 0.002
FRACTIONS = (1.0, 0.5)  # of the link: what it leaves to the engines matters more than how finely


def in_place_recipes(planner: Planner, ratios: Mapping[int, float]) -> Iterator[Recipe]:
    """Algorithm 1 with its idle engines filled as well, and stage two with a third way to evict.

    The engines come after the link or before it, and stage two covers the rest by drops, or also by
    compressing what no queue can hide: that stalls, which may still be cheaper than recomputing.
    None if nothing compresses.
    """
    ways = _Ways(planner, ratios)
    if not ways.order:
        return
    for name, stages, meets_deadlines in (
        ("in place last", ways.link_first, True),
        ("in place first", ways.engines_first, True),
        ("in place, stalling", ways.stalling, False),
    ):
        yield from algorithm1_recipes(
            planner, ratios, RANKINGS, f"{name}, ", FRACTIONS, stages, meets_deadlines
        )
    yield Recipe("cost model, in place", ways.cost_model, meets_deadlines=False)


class _Ways:
    """How drafts get their actions.

    Attributes:
        order: the candidates that compressing shrinks: first what saves most recomputation for
            an engine's second, bytes that stay deducted.
    """

    def __init__(self, planner: Planner, ratios: Mapping[int, float]) -> None:
        self._transfer_cost_s = transfer_cost_s(planner, ratios)
        problem = planner.problem
        self._compress_s = {t: planner.compress_s(t) for t in problem.candidates}
        saved = {
            t: 1 - compressed_bytes(c.bytes, ratios.get(t, 1.0)) / c.bytes
            for t, c in problem.candidates.items()
        }

        def worth(t: int) -> float:
            return planner.recompute_s(t) * saved[t] / max(self._compress_s[t])

        self.order = sorted((t for t in problem.candidates if saved[t]), key=worth, reverse=True)

    def link_first(self, draft: Draft, link: Link, target_bytes: int) -> None:
        """Swap, compress what the queues can still hide, drop the rest."""
        queues, target_bytes = CopyQueues(draft.problem, mixed=True), _with_margin(target_bytes)
        fill_link(draft, link, target_bytes, queues)
        fill_engines(draft, self.order, self._compress_s, target_bytes, queues)
        cover_deficit(draft, target_bytes)

    def engines_first(self, draft: Draft, link: Link, target_bytes: int) -> None:
        """Compress what the queues can hide, swap what they can still hide, drop the rest."""
        queues, target_bytes = CopyQueues(draft.problem, mixed=True), _with_margin(target_bytes)
        fill_engines(draft, self.order, self._compress_s, target_bytes, queues)
        fill_link(draft, link, target_bytes, queues)
        cover_deficit(draft, target_bytes)

    def stalling(self, draft: Draft, link: Link, target_bytes: int) -> None:
        """Swap what the queue can hide; of the rest compress what costs less so than dropped."""
        target_bytes = _with_margin(target_bytes)
        fill_link(draft, link, target_bytes)
        cover_deficit(draft, target_bytes, compress_cost_s=self._compress_cost_s)

    def cost_model(self, draft: Draft, target_bytes: int) -> None:
        """Stage two alone, each tensor evicted in the way that costs least a byte (Eq. 1)."""
        cover_deficit(
            draft, _with_margin(target_bytes), self._transfer_cost_s, self._compress_cost_s
        )

    def _compress_cost_s(self, c: Candidate) -> float:
        return max(self._compress_s[c.storage])


def _with_margin(target_bytes: int) -> int:
    return int(target_bytes * (1 - MARGIN))

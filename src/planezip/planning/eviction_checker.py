"""Proof that a plan does to every storage what it says, and nothing else.

Shares nothing with the planners. Together with `checker.py` this is the class of plans that
docs/bound.md states: the bound holds for what is accepted here.
"""

from collections.abc import Iterable
from math import inf

from planezip.errors import PlanCheckError
from planezip.records import Plan, Trace
from planezip.records.trace import BUDGETED_KINDS


def check_actions(trace: Trace, plan: Plan) -> None:
    """Every saved activation has one action, which it allows, and the steps belong to it."""
    if set(plan.actions) != set(trace.saved):
        _fail("the plan does not decide about exactly the saved activations")
    away = {w.storage: "compress" if w.in_place else "swap" for w in plan.swaps}
    said = {s: action for s, action in plan.actions.items() if action in ("swap", "compress")}
    if away != said or len(away) != len(plan.swaps):
        odd = sorted(s for s in away.keys() | said if away.get(s) != said.get(s))
        _fail(f"swapped storages {odd} are not what the actions say")
    replayed = {step.replay_for for step in plan.steps if step.replay_for >= 0}
    dropped = _dropped(plan)
    if not replayed <= dropped:
        _fail(f"storages {sorted(replayed - dropped)} are replayed but not dropped")
    rewritten = {s for op in trace.ops if op.phase != "forward" for s in op.writes}
    for s in sorted(said.keys() | dropped):
        if not trace.storages[s].evictable:
            _fail(f"storage {s} is evicted, which the trace says it cannot be")
        if s in rewritten:
            _fail(f"storage {s} is evicted, although backward overwrites it")


def check_stays(trace: Trace, plan: Plan) -> None:
    """What a replay recomputes for another tensor stays where the plan says so, and only there."""
    dropped = _dropped(plan)
    stays = set(plan.stays)
    if not stays <= dropped:
        _fail(f"storages {sorted(stays - dropped)} stay after replays but are not dropped")
    forward = [op for op in trace.ops if op.phase == "forward"]
    last_writer = {s: op.index for op in forward for s in op.writes}
    unused, own_steps, replayed = set(dropped), 0, dict[int, list[int]]()
    for step in plan.steps:
        op = trace.ops[step.op]
        if step.replay_for >= 0:
            for s in dropped.intersection(step.into):
                if last_writer.get(s) == step.op:
                    replayed.setdefault(s, []).append(own_steps)
            continue
        first_used = unused.intersection(op.reads) if op.phase != "forward" else set()
        unused -= first_used
        for s in first_used:
            times = replayed.get(s, [])
            if s in stays and len(times) > 1:
                _fail(f"storage {s} stays but is replayed {len(times)} times before its first use")
            if s not in stays and own_steps not in times:
                _fail(f"storage {s} stays after another one's replay, which the plan does not say")
        own_steps += 1


def check_residence(trace: Trace, plan: Plan) -> None:
    """Every storage is in its own buffer from its first use to its last, the evicted ones except
    once, between their last use in forward and their first in backward; nothing outlives its use.
    """
    uses = _Uses(trace, plan)
    freed_in_forward: set[int] = set()
    for index, step in enumerate(plan.steps):
        if index <= uses.forward_end:
            freed_in_forward.update(step.free)
        for b in step.free:
            if b < len(trace.storages) and not uses.may_leave(b, index):
                _fail(f"step {index} frees storage {b}, which does not leave then")
        if step.replay_for >= 0:
            _check_replay(trace, uses, index, step.into)
    for w in plan.swaps:
        if w.release_after < uses.last_forward.get(w.storage, -1):
            _fail(f"storage {w.storage} is swapped out before its last use in forward")
        if w.needed_by > uses.first_backward[w.storage]:
            _fail(f"storage {w.storage} is swapped in after its first use in backward")
    for s in sorted(uses.forward_leaves(trace) - freed_in_forward):
        what = "is dropped but" if s in uses.dropped else "has had its last use but"
        _fail(f"storage {s} {what} is not freed by the end of the forward pass")


class _Uses:
    """When storages are used, in indices of the steps that are no replays.

    Attributes:
        forward_end: the last step of the forward pass, -1 if there is none.
        last_forward, first_backward, last: storage -> the step of that use.
    """

    def __init__(self, trace: Trace, plan: Plan) -> None:
        self.dropped = _dropped(plan)
        self.forward_end = -1
        self.last_forward: dict[int, int] = {}
        self.first_backward: dict[int, int] = {}
        self.last: dict[int, int] = {}
        for index, step in enumerate(plan.steps):
            op = trace.ops[step.op]
            if step.replay_for >= 0:
                continue
            used = dict.fromkeys((*op.reads, *op.writes), index)
            self.last |= used
            if op.phase == "forward":
                self.forward_end = index
                self.last_forward |= used
            else:
                self.first_backward = used | self.first_backward

    def is_idle(self, s: int, index: int) -> bool:
        """Whether the step lies between the storage's uses in forward and those in backward."""
        return self.last_forward.get(s, -1) <= index < self.first_backward.get(s, inf)

    def may_leave(self, s: int, index: int) -> bool:
        """Whether the storage may be freed after a step."""
        return index >= self.last.get(s, -1) or (s in self.dropped and self.is_idle(s, index))

    def forward_leaves(self, trace: Trace) -> set[int]:
        """What must be gone when forward is over; the batch may stay for replays."""
        over = {
            s
            for s, last in self.last.items()
            if last <= self.forward_end and trace.storages[s].kind == "activation"
        }
        return over | self.dropped


def _check_replay(trace: Trace, uses: _Uses, index: int, into: Iterable[int]) -> None:
    if index < uses.forward_end:
        _fail(f"step {index} is a replay before the end of the forward pass")
    for b in into:
        budgeted = b < len(trace.storages) and trace.storages[b].kind in BUDGETED_KINDS
        if budgeted and not uses.may_leave(b, index):
            _fail(f"step {index} is a replay into storage {b}, which is not away")


def _dropped(plan: Plan) -> set[int]:
    return {s for s, action in plan.actions.items() if action == "drop"}


def _fail(message: str) -> None:
    raise PlanCheckError(message)

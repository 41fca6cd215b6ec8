"""A plan in the terms of a running forward and backward pass."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planezip.execution.guards import Environment
from planezip.execution.profile import Profile, TraceBuilder
from planezip.execution.replay import NotReplayableError, positions
from planezip.execution.sequence import Sequence
from planezip.execution.tape import Tape
from planezip.records import Action, Plan, Swap, Trace, compressed_bytes, peak_activation_bytes


@dataclass(frozen=True, slots=True)
class Schedule:
    """What to do with every saved value of a forward pass that runs `sequence`.

    Attributes:
        actions: saved value -> action; what is missing is kept.
        stays: dropped values that stay, once a replay recomputes them, until autograd lets go.
        sources: dropped value -> the saved values that its replay starts from.
        stay_until: value that is compressed in place -> the operator of the forward pass after
            which it leaves.
        out_before: operator of the forward pass -> values that must have left before it runs.
        prefetch: number of an unpack -> values whose way back begins with it.
        planned_peak_bytes: activation memory that the plan needs at most.
        plain_peak_bytes: the same without eviction.
        plan, trace: what it was made from.
        op_of: operator on the tape -> its index in Trace.ops.
    """

    sequence: Sequence
    environment: Environment
    actions: Mapping[int, Action]
    stays: frozenset[int]
    sources: Mapping[int, tuple[int, ...]]
    stay_until: Mapping[int, int]
    out_before: Mapping[int, tuple[int, ...]]
    prefetch: Mapping[int, tuple[int, ...]]
    planned_peak_bytes: int
    plain_peak_bytes: int
    plan: Plan
    trace: Trace
    op_of: tuple[int, ...]

    def actions_by_size(self) -> dict[str, tuple[int, int]]:
        """Action -> how many saved activations, and their bytes."""
        found: dict[str, tuple[int, int]] = {}
        for storage, action in self.plan.actions.items():
            count, size = found.get(action, (0, 0))
            found[action] = count + 1, size + self.trace.storages[storage].bytes
        return found


def make_schedule(profile: Profile, builder: TraceBuilder, trace: Trace, plan: Plan) -> Schedule:
    """Translate a plan for the trace of a profile."""
    tape = profile.tape
    value_of = {tape.values[pack.value].storage: pack.value for pack in profile.packs}
    actions = {value_of[s]: action for s, action in plan.actions.items() if s in value_of}
    dropped = [v for v, action in actions.items() if action == "drop"]
    times = _Times(profile, builder, plan)
    return Schedule(
        sequence=sequence_of(profile),
        environment=tape.environment,
        actions=actions,
        stays=frozenset(value_of[s] for s in plan.stays),
        sources={v: _sources(tape, v, actions) for v in dropped},
        stay_until={
            value_of[swap.storage]: times.operator_of(swap.out_after)
            for swap in plan.swaps
            if swap.in_place
        },
        out_before={
            op: tuple(value_of[s] for s in gone)
            for op, gone in _out_before(times, trace, plan).items()
        },
        prefetch=_prefetch(builder, plan, value_of),
        planned_peak_bytes=int(_planned_memory(trace, plan).max(initial=0)),
        plain_peak_bytes=peak_activation_bytes(trace, "fp32"),
        plan=plan,
        trace=trace,
        op_of=tuple(builder.op_of),
    )


def sequence_of(profile: Profile) -> Sequence:
    """What a later pass is held against."""
    return Sequence(
        tuple(profile.tape.ops[: profile.forward_end]),
        tuple(profile.packs),
        frozenset(
            value.index
            for value in profile.tape.values
            if not value.repeatable and value.producer < profile.forward_end
        ),
        profile.tape.accumulates,
    )


def _sources(tape: Tape, v: int, actions: Mapping[int, Action]) -> tuple[int, ...]:
    """The saved values that stand at the beginning of a replay of v, however far back it goes."""
    there = {a for a, action in actions.items() if action != "drop"}

    def available(u: int) -> bool:
        return u in there or tape.values[u].external

    try:
        order = positions(tape, [v], available)
    except NotReplayableError as error:
        raise AssertionError(f"the plan drops value {v}, which needs value {error}") from error
    return tuple(dict.fromkeys(u for i in order for u in tape.ops[i].reads if u in there))


class _Times:
    """Steps of a plan and operators of the forward pass.

    Attributes:
        steps: by operator of the forward pass, its step; of what makes no tensor and has none of
            its own, the one before.
    """

    def __init__(self, profile: Profile, builder: TraceBuilder, plan: Plan) -> None:
        step_of = {step.op: i for i, step in enumerate(plan.steps) if step.replay_for < 0}
        self.steps: list[int] = []
        for index in range(profile.forward_end):
            before = self.steps[-1] if self.steps else 0
            self.steps.append(step_of.get(builder.op_of[index], before))

    def operator_of(self, step: int) -> int:
        """The last operator of the forward pass that has run when a step is over."""
        return bisect_right(self.steps, step) - 1


def _out_before(times: _Times, trace: Trace, plan: Plan) -> dict[int, list[int]]:
    """Simulate memory with every copy out as late as the budget allows.

    Returns:
        Operator of the forward pass -> storages that must have left before it.
    """
    memory = _planned_memory(trace, plan)
    leaving = sorted(plan.swaps, key=lambda swap: (swap.out_after, swap.storage))
    given = {swap.storage: _given_bytes(trace, plan, swap) for swap in leaving}
    found: dict[int, list[int]] = {}
    gone = 0
    for index, step in enumerate(times.steps):
        late = sum(given[s.storage] for s in leaving[gone:] if s.release_after < step)
        while gone < len(leaving) and late and memory[step] + late > plan.budget_bytes:
            swap = leaving[gone]
            if swap.release_after < step:
                late -= given[swap.storage]
            found.setdefault(index, []).append(swap.storage)
            gone += 1
    return found


def _given_bytes(trace: Trace, plan: Plan, swap: Swap) -> int:
    """Device memory that is free once a storage has left."""
    size = trace.storages[swap.storage].bytes
    if not swap.in_place:
        return size
    return size - compressed_bytes(size, plan.ratios[swap.storage])


def _planned_memory(trace: Trace, plan: Plan) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Activation bytes during every step if copies took no time."""
    change = np.zeros(len(plan.steps) + 1, dtype=np.int64)
    sizes = [s.bytes if s.kind == "activation" else 0 for s in trace.storages]
    sizes += [sizes[s] for s in plan.scratch]
    resident: set[int] = set()
    for index, step in enumerate(plan.steps):
        for buffer in step.into:
            if buffer not in resident:
                resident.add(buffer)
                change[index] += sizes[buffer]
        for buffer in step.free:
            resident.discard(buffer)
            change[index + 1] -= sizes[buffer]
    for swap in plan.swaps:
        size, given = sizes[swap.storage], _given_bytes(trace, plan, swap)
        change[swap.release_after + 1] -= given
        change[swap.prefetch_before] += size
        change[swap.needed_by] -= size - given
    return np.cumsum(change)[:-1]


def _prefetch(
    builder: TraceBuilder, plan: Plan, value_of: Mapping[int, int]
) -> dict[int, tuple[int, ...]]:
    """The first unpack from which on each swapped value may come back."""
    step_of = {step.op: i for i, step in enumerate(plan.steps) if step.replay_for < 0}
    steps = np.array([step_of[marker] for marker in builder.marker_of_unpack])
    found: dict[int, list[int]] = {}
    for swap in sorted(plan.swaps, key=lambda swap: swap.needed_by):
        number = int(np.searchsorted(steps, swap.prefetch_before))
        if number < len(steps) and steps[number] < swap.needed_by:
            found.setdefault(number, []).append(value_of[swap.storage])
    return {number: tuple(values) for number, values in found.items()}

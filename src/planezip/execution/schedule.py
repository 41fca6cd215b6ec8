"""A plan in the terms of a running forward and backward pass."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planezip.execution.guards import Environment
from planezip.execution.profile import Profile, TraceBuilder
from planezip.execution.replay import NotReplayableError, positions
from planezip.execution.saved import Action
from planezip.execution.sequence import Sequence
from planezip.execution.tape import Tape
from planezip.records import Plan, Trace, peak_activation_bytes


@dataclass(frozen=True, slots=True)
class Schedule:
    """What to do with every saved value of a forward pass that runs `sequence`.

    Attributes:
        actions: saved value -> action; what is missing is kept.
        stays: dropped values that stay, once a replay recomputes them, until autograd lets go.
        sources: dropped value -> the saved values that its replay starts from.
        out_before: by operator of the forward pass, how many of the values that leave, in order of
            leaving, must have left before it runs.
        prefetch: number of an unpack -> values whose way back begins with it.
        planned_peak_bytes: activation memory that the plan needs at most.
        plain_peak_bytes: the same without eviction.
        plan, trace: what it was made from.
    """

    sequence: Sequence
    environment: Environment
    actions: Mapping[int, Action]
    stays: frozenset[int]
    sources: Mapping[int, tuple[int, ...]]
    out_before: tuple[int, ...]
    prefetch: Mapping[int, tuple[int, ...]]
    planned_peak_bytes: int
    plain_peak_bytes: int
    plan: Plan
    trace: Trace

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
    sequence = Sequence(tuple(tape.ops[: profile.forward_end]), tuple(profile.packs))
    return Schedule(
        sequence=sequence,
        environment=tape.environment,
        actions=actions,
        stays=frozenset(value_of[s] for s in plan.stays),
        sources={v: _sources(tape, v, actions) for v in dropped},
        out_before=_out_before(profile, builder, trace, plan),
        prefetch=_prefetch(builder, plan, value_of),
        planned_peak_bytes=int(_planned_memory(trace, plan).max(initial=0)),
        plain_peak_bytes=peak_activation_bytes(trace, "fp32"),
        plan=plan,
        trace=trace,
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


def _out_before(
    profile: Profile, builder: TraceBuilder, trace: Trace, plan: Plan
) -> tuple[int, ...]:
    """Simulate memory with every copy out as late as the budget allows."""
    memory = _planned_memory(trace, plan)
    step_of = {step.op: i for i, step in enumerate(plan.steps) if step.replay_for < 0}
    leaving = sorted(plan.swaps, key=lambda swap: (swap.out_after, swap.storage))
    sizes = [trace.storages[swap.storage].bytes for swap in leaving]
    needed, gone, step = [], 0, 0  # what makes no tensor has no step of its own
    for index in range(profile.forward_end):
        step = step_of.get(builder.op_of[index], step)
        late = sum(
            size
            for swap, size in zip(leaving[gone:], sizes[gone:], strict=True)
            if swap.release_after < step
        )
        while gone < len(leaving) and late and memory[step] + late > plan.budget_bytes:
            if leaving[gone].release_after < step:
                late -= sizes[gone]
            gone += 1
        needed.append(gone)
    return tuple(needed)


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
        change[swap.release_after + 1] -= sizes[swap.storage]
        change[swap.prefetch_before] += sizes[swap.storage]
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

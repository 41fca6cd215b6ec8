"""A plan as an explicit program: what is computed when, into which buffer, and what moves.

A plan leaves nothing to be decided by whoever runs it. The simulator executes it, the checker
proves it, a runtime can run it; only planners know why it looks the way it does.
"""

from dataclasses import dataclass
from typing import Literal

Action = Literal["keep", "swap", "compress", "drop"]
"""Leave as it is; copy to the host and back; compress in device memory; free and recompute."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operator execution.

    Attributes:
        op: index in Trace.ops. Views have no step.
        into: the buffer of every storage in ops[op].writes, in that order. Buffer b < number of
            storages is storage b's own; further buffers are Plan.scratch. A buffer that is not
            resident is allocated; one that is resident is written in place.
        free: buffers released after the step.
        replay_for: the dropped storage whose replay this step belongs to, -1 outside replays.
    """

    op: int
    into: tuple[int, ...]
    free: tuple[int, ...] = ()
    replay_for: int = -1


@dataclass(frozen=True, slots=True)
class Swap:
    """One storage that is swapped or compressed in place; all times are indices into Plan.steps.

    What is compressed in place takes its turn in the same two queues, pays for the engine and not
    for the link, and leaves its compressed bytes in device memory until it is back.

    Attributes:
        storage: id of the storage, also its buffer.
        out_after: the copy may start after this step (-1: before the first): its last write,
            or in place its last use before it leaves.
        release_after: its last use before it leaves; the buffer is freed when this step is over
            and the copy is complete.
        prefetch_before: the copy back may start when this step is about to start.
        needed_by: the first step that reads it again.
        in_place: it is compressed in device memory instead of copied to the host.
    """

    storage: int
    out_after: int
    release_after: int
    prefetch_before: int
    needed_by: int
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with every saved activation of a trace within a budget.

    Attributes:
        model, platform: what it was made for.
        policy: the policy that made it, e.g. "planezip".
        candidate: the candidate of the portfolio that was kept, e.g. "recompute/copy eta=0.75".
        budget_bytes: limit on activation memory.
        meets_deadlines: the planner promises that, at the predicted ratios and without stalls,
            all swap-outs end with the forward pass and every swap-in before its first use there.
        actions: saved storage id -> action.
        ratios: saved storage id -> predicted compression ratio.
        steps: the program, in execution order.
        swaps: the transfers, and what is compressed in place.
        scratch: storage id of every further buffer: buffer number_of_storages + i holds an
            earlier version of storage scratch[i] for the time of a replay.
        stays: dropped storages that stay resident until their own last use once the replay of
            another one has recomputed them; all others are freed again after such a replay.
        predicted_s: simulated duration of the iteration with the predicted ratios, 0 if unknown.
        evaluations: plans that a search tried to find this one, 0 without a search; the same number
            and seed find it again.
        seed: of that search.
    """

    model: str
    platform: str
    policy: str
    candidate: str
    budget_bytes: int
    meets_deadlines: bool
    actions: dict[int, Action]
    ratios: dict[int, float]
    steps: tuple[Step, ...]
    swaps: tuple[Swap, ...]
    scratch: tuple[int, ...] = ()
    predicted_s: float = 0.0
    stays: tuple[int, ...] = ()
    evaluations: int = 0
    seed: int = 0

"""What each modelling choice that the paper leaves open does to what the paper reports.

    python paper/choices.py [NAME ...] > paper/results/choices.csv

One choice is varied at a time, here and not in the product. Prints CSV: mean overhead in % over the
five models at 50 % and 30 % on platforms A and B, of the policies that depend on no ratio and, with
the paper's own ratios, of those that compress; and what tells choices apart that the means do not:
SWAP's slowdown (policy swap), ResNet-50's images a second (policy images_per_s) and how many of the
70 configurations have DTE equal to RECOMP (policy dte_equals_recomp; platform and budget "all").
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from statistics import mean
from unittest.mock import patch

from planezip.planning import Problem, algorithm1, portfolio
from planezip.planning.replay import TICKS_PER_S, ReplayCosts
from planezip.records import Trace, costs, platforms
from planezip.records.measurements import PAPER_MODELS, shipped
from planezip.records.trace import Op
from planezip.report.bench import Bench
from planezip.report.sources import PaperTable

POLICIES = ("recomp", "dte", "bw", "bw+zvc", "planezip")
BUDGETS_PCT = (30, 40, 50, 60, 70, 80, 90)
op_s = costs._op_s


def each_op(change: Callable[[Trace, Op], Op]) -> Callable[[Trace], Trace]:
    return lambda trace: replace(trace, ops=tuple(change(trace, op) for op in trace.ops))


def inplace_once(trace: Trace, op: Op) -> Op:
    both = [trace.storages[s] for s in op.reads if s in op.writes]
    fp32 = sum(s.bytes for s in both if s.dtype == "float32" and not s.final)
    return replace(op, fp32_bytes=max(0, op.fp32_bytes - fp32))


def groups_ignored(trace: Trace, op: Op) -> Op:
    """Depthwise convolutions in backward as torch's FLOP counter has them: times the groups."""
    if "convolution_backward" not in op.name or op.phase != "backward":
        return op
    weights = [s for s in op.reads if trace.storages[s].kind == "parameter"]
    for forward in trace.ops[: trace.forward_end]:
        if "convolution" in forward.name and weights and weights[0] in forward.reads:
            outputs = trace.storages[forward.writes[0]].bytes // 4
            per_output = forward.flops // (2 * outputs)
            if per_output in (9, 25):  # one input channel a group, 3 x 3 or 5 x 5
                return replace(
                    op, flops=op.flops * (trace.storages[weights[0]].bytes // 4 // per_output)
                )
    return op


def gradients_outside(trace: Trace) -> Trace:
    storages = tuple(
        replace(s, kind="buffer")
        if s.kind == "activation" and s.producer >= trace.forward_end
        else s
        for s in trace.storages
    )
    return replace(trace, storages=storages)


def views_pay(trace: Trace) -> Trace:
    """The launches of views are charged to the next operator, as bytes that take as long."""
    waiting, ops = 0, []
    for op in trace.ops:
        waiting += op.is_view
        ops.append(op if op.is_view else replace(op, random=op.random, name=f"{op.name}|{waiting}"))
        waiting = waiting if op.is_view else 0
    return replace(trace, ops=tuple(ops))


def with_views(op: Op, platform: object) -> float:
    return (
        op_s(op, platform) + int(op.name.split("|")[1]) * platform.launch_s
        if "|" in op.name
        else op_s(op, platform)
    )


def empties_free(op: Op, platform: object) -> float:
    free = "empty" in op.name or op.bytes_at("fp32") == 0
    return 0.0 if free else op_s(op, platform)


def each_optimizer_launch(op: Op, platform: object) -> float:
    return op_s(op, platform) + (
        platform.launch_s if op.phase == "optimizer" and not op.is_view else 0
    )


class WithoutIdle(Problem):
    def _find_candidates(self):
        return {t: replace(c, idle_s=1.0) for t, c in super()._find_candidates().items()}


def latest_first(program, bytes_of, budget_bytes, delays):
    """Places the prefetch of the latest need first, each by itself."""
    swaps, memory = [], program.memory.copy()
    for r in sorted(program.residences, key=lambda r: (-r.needed_by, r.storage)):
        (swap,) = place(replace(program, residences=(r,), memory=memory), bytes_of, budget_bytes)
        memory[swap.prefetch_before : swap.needed_by] += bytes_of[r.storage]
        swaps.append(swap)
    return tuple(swaps)


class IdleInOperators(Problem):
    def _find_candidates(self):
        return {
            t: replace(c, idle_s=float(c.first_backward_use - c.last_forward_use))
            for t, c in super()._find_candidates().items()
        }


place = portfolio.place_prefetches


def charged_once(self: ReplayCosts, t: int) -> float:
    return self.ticks[t] / TICKS_PER_S


CHOICES = {
    "as chosen": {},
    "views pay a launch": {"trace": views_pay, "patches": [(costs, "_op_s", with_views)]},
    "`empty` takes no time": {"patches": [(costs, "_op_s", empties_free)]},
    "in place pays its bytes once": {"trace": each_op(inplace_once)},
    "every optimizer operator is launched": {"patches": [(costs, "_op_s", each_optimizer_launch)]},
    "convolution backward ignores groups": {"trace": each_op(groups_ignored)},
    "activation gradients outside the budget": {"trace": gradients_outside},
    "drop score without idle time": {"problem": WithoutIdle},
    "idle time counted in operators": {"problem": IdleInOperators},
    "drops charged once": {"patches": [(ReplayCosts, "charge_s", charged_once)]},
    "no test whether a replay fits": {
        "patches": [(algorithm1._ReplayRoom, "fits", lambda self, t, budget: True)]
    },
    "latest need is prefetched first": {"patches": [(portfolio, "place_prefetches", latest_first)]},
    "what replays recompute stays": {"kept": True},
}


def measure(name: str) -> dict[tuple[str, object, str], float]:
    choice = CHOICES[name]
    equal, images = 0, 0.0
    found: dict[tuple[str, int, str], list[float]] = {}
    with _patched(choice.get("patches", ())):
        for model in PAPER_MODELS:
            trace = choice.get("trace", lambda t: t)(shipped().trace(model))
            for p in ("A", "B"):
                bench = Bench(trace, platforms()[p], PaperTable(), kept=choice.get("kept", False))
                bench.problem = choice.get("problem", Problem)(trace, platforms()[p])
                for budget in (50, 30):
                    for policy in POLICIES:
                        found.setdefault((p, budget, policy), []).append(
                            overhead_pct(bench, budget, policy)
                        )
                found.setdefault((p, 50, "swap"), []).append(overhead_pct(bench, 50, "swap"))
                equal += sum(
                    overhead_pct(bench, budget, "dte") == overhead_pct(bench, budget, "recomp")
                    for budget in BUDGETS_PCT
                )
                if (model, p) == ("resnet50", "B"):
                    images = trace.batch / bench.unlimited_s
    means: dict[tuple[str, object, str], float] = {k: mean(v) for k, v in found.items()}
    return {
        **means,
        ("B", "all", "images_per_s"): images,
        ("all", "all", "dte_equals_recomp"): equal,
    }


def overhead_pct(bench: Bench, budget_pct: float, policy: str) -> float:
    plan = bench.best_plan(policy, bench.budget_bytes(budget_pct))
    seconds = bench.run(plan).duration_s if plan else float("nan")
    return 100 * (seconds / bench.unlimited_s - 1)


@contextmanager
def _patched(patches) -> Iterator[None]:
    made = [patch.object(*p) for p in patches]
    for p in made:
        p.start()
    try:
        yield
    finally:
        for p in made:
            p.stop()


def main() -> None:
    print("choice,platform,budget_pct,policy,mean_overhead_pct")
    for name in sys.argv[1:] or CHOICES:
        for (p, budget, policy), overhead in measure(name).items():
            print(f"{name},{p},{budget},{policy},{overhead:.1f}", flush=True)


if __name__ == "__main__":
    main()

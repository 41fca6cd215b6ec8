"""How long one plan and its simulation take, per platform and budget, and as models grow.

    python benchmarks/planning_speed.py [MODEL ...]

Every candidate of the PlaneZip portfolio is timed alone, from actions to simulated duration,
re-planning included. A model repeated k times is k of it, one feeding the next, trained as one.
Times are CPU times. Writes planning_speed.csv and the machine's description beside it.
"""

import csv
import io
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

from planezip.planning import Planner, Problem
from planezip.planning.portfolio import build_plan, portfolio
from planezip.records import Op, Storage, Trace, platforms, to_json, write_atomically
from planezip.records.measurements import shipped
from planezip.report.machine import this_machine
from planezip.simulation import Simulator

HERE = Path(__file__).parent
SAMPLES = 3
RATIO = 1.8  # of every tensor; the time hardly depends on it
COLUMNS = ("model", "times", "platform", "budget_pct", "ops", "tensors", "median_ms", "slowest_ms")
GROWN, FACTORS = ("densenet121", "gpt2"), (1, 2, 4, 8)


def main() -> None:
    rows = []
    for model in sys.argv[1:] or shipped().models():
        trace = shipped().trace(model)
        rows += [measure(trace, 1, p, budget) for p in "AB" for budget in (90, 70, 50, 30)]
        if model in GROWN:
            rows += [measure(repeated(trace, k), k, "B", 50) for k in FACTORS[1:]]
        print(model, flush=True)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([COLUMNS, *rows])
    folder = HERE / "results" / this_machine().slug
    write_atomically(folder / "planning_speed.csv", text.getvalue().encode())
    write_atomically(folder / "machine.json", to_json(this_machine()))
    print(text.getvalue(), end="")


def measure(trace: Trace, times: int, platform_name: str, budget_pct: int) -> tuple[object, ...]:
    platform = platforms()[platform_name]
    problem, simulator = Problem(trace, platform), Simulator(trace, platform)
    planner = Planner(problem)
    ratios = dict.fromkeys(trace.saved, RATIO)
    budget_bytes = problem.peak_bytes * budget_pct // 100
    times_ms = []
    for recipe in portfolio(planner, ratios):
        samples = []
        for _ in range(SAMPLES):
            start = time.process_time()
            build_plan(planner, recipe, budget_bytes, ratios, simulator.run)
            samples.append((time.process_time() - start) * 1e3)
        times_ms.append(min(samples))  # what disturbs can only add
    return (
        trace.model,
        times,
        platform_name,
        budget_pct,
        len(trace.ops),
        len(trace.saved),
        f"{statistics.median(times_ms):.1f}",
        f"{max(times_ms):.1f}",
    )


def repeated(trace: Trace, times: int) -> Trace:
    """`times` copies as one network: all forward passes, then all backward passes in reverse."""
    width = len(trace.storages)
    parts = [
        [op for op in trace.ops if op.phase == p] for p in ("forward", "backward", "optimizer")
    ]
    ops: list[Op] = []
    new_index: dict[tuple[int, int], int] = {}
    for part, copies in zip(
        parts, (range(times), reversed(range(times)), range(times)), strict=True
    ):
        before: tuple[int, ...] = ()  # what the copy before it made last
        for copy in copies:
            for op in part:
                new_index[copy, op.index] = len(ops)
                reads = tuple(s + copy * width for s in op.reads)
                if not op.is_view:
                    reads, before = (*reads, *before), ()
                writes = tuple(s + copy * width for s in op.writes)
                ops.append(replace(op, index=len(ops), reads=reads, writes=writes))
            last = next(op for op in reversed(part) if not op.is_view)
            before = (last.writes[0] + copy * width,)
    storages = [
        Storage(
            s.id + copy * width, s.kind, s.dtype, s.bytes,
            new_index[copy, s.producer] if s.producer >= 0 else -1, s.slot, s.final,
        )
        for copy in range(times)
        for s in trace.storages
    ]  # fmt: skip
    return replace(trace, ops=tuple(ops), storages=tuple(storages), saved_by_hooks=())


if __name__ == "__main__":
    main()

"""How long one plan and its simulation take, and how that grows with the network.

    python benchmarks/planning_speed.py [MODEL ...]

One plan is one candidate of the PlaneZip portfolio, from choosing actions to its simulated
duration, re-planning included; the portfolio is all 18 of them. planning_speed.csv has a row for
every platform and budget and one over all of them. growth.csv has networks of growing depth: a
model repeated k times (one feeding the next, trained as one) and GPT-2 with more layers, traced
anew. Where cost grows as n log n in the operators, its last column stays as it is. CPU times; the
machine's description is written beside them.
"""

import csv
import io
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from math import log2
from pathlib import Path
from typing import Any

from planezip.planning import Planner, Problem
from planezip.planning.portfolio import build_plan, portfolio
from planezip.records import Op, Platform, Storage, Trace, platform, to_json, write_atomically
from planezip.records.measurements import shipped
from planezip.report.machine import this_machine
from planezip.simulation import Simulator

SAMPLES = 3
RATIO = 1.8  # of every tensor; the time hardly depends on it
BUDGETS_PCT = (90, 70, 50, 30)
REPEATED, TIMES = ("densenet121", "gpt2"), (1, 2, 4, 8)
LAYERS = (12, 24, 48, 96)


@dataclass(frozen=True)
class Speed:
    """One platform and budget, or "all" of them."""

    model: str
    platform: str
    budget_pct: str
    ops: int
    tensors: int
    plans: int
    median_ms: float
    slowest_ms: float
    portfolio_ms: float


@dataclass(frozen=True)
class Growth:
    """A network of some depth on platform B at a budget of 50 %; `steps` with replays."""

    network: str
    depth: int
    ops: int
    tensors: int
    median_steps: float
    median_ms: float
    slowest_ms: float
    median_us_per_op_and_log2_ops: float


def main() -> None:
    speeds, folder = [], Path(__file__).parent / "results" / this_machine().slug
    for model in sys.argv[1:] or shipped().models():
        speeds += measure(shipped().trace(model))
        print(*astuple(speeds[-1]), flush=True)
    write_atomically(folder / "planning_speed.csv", table(Speed, speeds))
    growths = []
    for name, depth, trace in grown():
        growths.append(growth(name, depth, trace))
        print(*astuple(growths[-1]), flush=True)
    write_atomically(folder / "growth.csv", table(Growth, growths))
    write_atomically(folder / "machine.json", to_json(this_machine()))


def measure(trace: Trace) -> list[Speed]:
    """A row for every platform and budget, and one over all of them."""
    every: list[float] = []
    rows = []
    for name in "AB":
        for budget in BUDGETS_PCT:
            times, _ = plan_times_ms(trace, platform(name), budget)
            rows.append(speed(trace, name, str(budget), times, 1))
            every += times
    return [*rows, speed(trace, "all", "all", every, len(rows))]


def speed(trace: Trace, name: str, budget: str, times: Sequence[float], portfolios: int) -> Speed:
    return Speed(
        trace.model,
        name,
        budget,
        len(trace.ops),
        len(trace.saved),
        len(times),
        statistics.median(times),
        max(times),
        sum(times) / portfolios,
    )


def growth(name: str, depth: int, trace: Trace) -> Growth:
    (times, steps), ops = plan_times_ms(trace, platform("B"), 50), len(trace.ops)
    median = statistics.median(times)
    each = 1e3 * median / (ops * log2(ops))
    counts = statistics.median(steps), median, max(times), each
    return Growth(name, depth, ops, len(trace.saved), *counts)


def plan_times_ms(trace: Trace, on: Platform, budget_pct: int) -> tuple[list[float], list[int]]:
    """Time and steps of every candidate of the portfolio; the shortest of some samples."""
    problem, simulator = Problem(trace, on), Simulator(trace, on)
    planner, ratios = Planner(problem), dict.fromkeys(trace.saved, RATIO)
    budget_bytes = problem.peak_bytes * budget_pct // 100
    times, steps = [], []
    for recipe in portfolio(planner, ratios):
        samples = []
        for _ in range(SAMPLES):
            start = time.process_time()
            plan = build_plan(planner, recipe, budget_bytes, ratios, simulator.run)
            samples.append((time.process_time() - start) * 1e3)
        times.append(min(samples))  # what disturbs can only add
        steps.append(len(plan.steps) if plan else 0)
    return times, steps


def grown() -> Iterator[tuple[str, int, Trace]]:
    for model in REPEATED:
        for times in TIMES:
            yield f"{model} repeated", times, repeated(shipped().trace(model), times)
    for layers in LAYERS:
        yield "gpt2 layers", layers, deep_gpt2(layers)


def deep_gpt2(layers: int) -> Trace:
    """GPT-2 with more layers, traced on the meta device at the paper's batch."""
    from transformers import GPT2Config, GPT2LMHeadModel

    from planezip.tracing import trace_step
    from planezip.workloads import workload
    from planezip.workloads.language import CausalLM
    from planezip.workloads.text import VOCABULARY

    config = GPT2Config(vocab_size=VOCABULARY, n_layer=layers, attn_implementation="eager")
    chosen = replace(workload("gpt2"), build=lambda: CausalLM(GPT2LMHeadModel(config)))
    with chosen.without_data(chosen.batch) as (model, batch):
        loss, optimizer = chosen.compute_loss(model), chosen.optimizer(model)
        return trace_step(loss, model, optimizer, batch, name="gpt2").trace


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


def table(kind: type[Any], rows: Iterable[Any]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(f.name for f in fields(kind))
    for row in rows:
        writer.writerow(f"{v:.4g}" if isinstance(v, float) else v for v in astuple(row))
    return text.getvalue().encode()


if __name__ == "__main__":
    main()

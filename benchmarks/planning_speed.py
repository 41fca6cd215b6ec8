"""How long one plan and its simulation take, per platform and budget.

    python benchmarks/planning_speed.py [TRACE]

Every candidate of the PlaneZip portfolio is timed alone, from actions to simulated duration,
re-planning included. Writes planning_speed.csv and the machine's description beside it.
"""

import csv
import io
import statistics
import sys
import time
from pathlib import Path

from planezip.planning import Planner, Problem
from planezip.planning.portfolio import build_plan, portfolio
from planezip.records import Trace, load, platforms, to_json, write_atomically
from planezip.report.machine import this_machine
from planezip.simulation import Simulator

HERE = Path(__file__).parent
REPEATS = 5
RATIO = 1.8  # of every tensor; the time hardly depends on it
COLUMNS = ("model", "platform", "budget_pct", "candidates", "median_ms", "slowest_ms")


def main() -> None:
    committed = sorted(HERE.parent.glob("paper/results/*/trace.json.gz"))
    trace = load(sys.argv[1] if len(sys.argv) > 1 else committed[0], Trace)
    rows = [
        measure(trace, name, budget_pct) for name in ("A", "B") for budget_pct in (90, 70, 50, 30)
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([COLUMNS, *rows])
    folder = HERE / "results" / this_machine().slug
    write_atomically(folder / "planning_speed.csv", text.getvalue().encode())
    write_atomically(folder / "machine.json", to_json(this_machine()))
    print(text.getvalue(), end="")


def measure(trace: Trace, platform_name: str, budget_pct: int) -> tuple[object, ...]:
    platform = platforms()[platform_name]
    problem, simulator = Problem(trace, platform), Simulator(trace, platform)
    planner = Planner(problem)
    ratios = dict.fromkeys(trace.saved, RATIO)
    budget_bytes = problem.peak_bytes * budget_pct // 100
    times_ms = []
    recipes = list(portfolio(planner, ratios))
    for recipe in recipes:
        samples = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            build_plan(planner, recipe, budget_bytes, ratios, simulator.run)
            samples.append((time.perf_counter() - start) * 1e3)
        times_ms.append(statistics.median(samples))
    return (
        trace.model,
        platform_name,
        budget_pct,
        len(recipes),
        f"{statistics.median(times_ms):.1f}",
        f"{max(times_ms):.1f}",
    )


if __name__ == "__main__":
    main()

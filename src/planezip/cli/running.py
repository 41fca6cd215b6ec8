"""Training within a budget, from the command line. Imports torch."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from planezip.cli.output import print_grids, print_json, stage
from planezip.cli.training import data_source
from planezip.cli.user import checked, prints_on_stderr
from planezip.errors import InputError
from planezip.report.grid import Grid
from planezip.session import Session
from planezip.session.comparison import PROFILED_STEPS, Comparison, Run, Training, compare
from planezip.units import format_bytes, parse_bytes
from planezip.workloads import UserStep, seed_all, seeded, user_step, workload


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to train.

    Attributes:
        budget: a size such as "2GiB" or a share such as "50%".
        perfetto: file for what happened when, and what was predicted.
        plainly: train without PlaneZip as well, to compare with.
    """

    budget: str
    steps: int
    batch: int | None
    images: Path | None
    text: Path | None
    host_pool: str
    spill: str | None
    seed: int
    perfetto: Path | None
    plainly: bool


def run(name: str, options: RunOptions) -> Comparison:
    """Train a workload or a user's model within a budget; write the timeline if asked for."""
    file = options.perfetto
    if file is not None and not file.parent.is_dir():
        raise InputError(f"cannot write {file}: there is no folder {file.parent}")
    comparison = _run(name, options)
    if file is not None:
        comparison.timeline.save(file)
    return comparison


def _run(name: str, options: RunOptions) -> Comparison:
    share = _share(options.budget)
    budget = None if share is not None else parse_bytes(options.budget)

    def session_of(model: Any) -> Session:
        return Session(
            model,
            budget,
            budget_ratio=share,
            host_pool=options.host_pool,
            spill=options.spill,
        )

    rounds = 2 if options.plainly else 1
    with stage(f"train {options.steps} steps") as advance:

        def on_step(which: str, step: int, loss: float) -> None:
            first = options.steps if which == "session" and options.plainly else 0
            advance(first + step + 1, rounds * options.steps)

        user = user_step(name)
        if user is None:
            make = _workload(name, options)
            return compare(make, session_of, options.steps, options.plainly, on_step)
        data_source(name, options.images, options.text)
        with prints_on_stderr(), user.blamed(), seeded(options.seed):
            make = _user(user, options)
            return compare(make, session_of, options.steps, options.plainly, on_step)


def _share(budget: str) -> float | None:
    """0.5 for "50%", None for a size."""
    if not budget.endswith("%"):
        return None
    try:
        share = float(budget[:-1]) / 100
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise InputError(f"{budget!r} is no share; write for example 50% or 2GiB")
    return share


def _workload(name: str, options: RunOptions) -> Callable[[], Training]:
    chosen = workload(name)
    source = data_source(name, options.images, options.text)
    data = chosen.data(source, options.seed)
    size = options.batch or chosen.capture_batch

    def make() -> Training:
        model = chosen.model(options.seed)
        seed_all(options.seed)
        loss = chosen.compute_loss(model)
        return Training(model, lambda step: loss(*data.batch(step, size)), chosen.trainer(model))

    return make


def _user(user: UserStep, options: RunOptions) -> Callable[[], Training]:
    def make() -> Training:
        made = checked(user.make(options.batch, options.seed))
        seed_all(options.seed)
        return Training(made.model, made.loss, made.optimizer)

    return make


def show(name: str, comparison: Comparison, as_json: bool) -> None:
    """Print what came out."""
    if as_json:
        print_json(_as_json(name, comparison))
        return
    plain, ours = comparison.plain, comparison.session
    rows = [] if plain is None else [_row("plain", comparison, plain)]
    rows.append(_row("within the budget", comparison, ours))
    headers = ("training", "peak", "of plain", "s a step", "of plain", "last loss")
    report = [line.split(None, 1) for line in str(comparison.report).splitlines()]
    grids = [
        Grid(f"{name}: activation memory and time", headers, rows),
        Grid("Session", ("", ""), report, words=2),
    ]
    if comparison.equal:
        equal = [
            (what, "the same bits" if same else "DIFFERENT")
            for what, same in comparison.equal.items()
        ]
        grids.append(Grid("Compared with plain training", ("", ""), equal, words=2))
    print_grids(*grids)


def _step_s(comparison: Comparison, run: Run) -> float:
    return run.step_s(1 if run is comparison.plain else PROFILED_STEPS)


def _row(title: str, comparison: Comparison, run: Run) -> tuple[str, ...]:
    plain = comparison.plain
    step_s = _step_s(comparison, run)
    return (
        title,
        format_bytes(run.peak_bytes),
        f"{run.peak_bytes / plain.peak_bytes:.2f}" if plain else "",
        f"{step_s:.3f}",
        f"{step_s / _step_s(comparison, plain):.2f}" if plain else "",
        f"{run.losses[-1]:.6g}",
    )


def _as_json(name: str, comparison: Comparison) -> dict[str, Any]:
    def run_as_json(run: Run) -> dict[str, Any]:
        return {
            "peak_bytes": run.peak_bytes,
            "step_s": _step_s(comparison, run),
            "seconds": run.seconds,
            "losses": run.losses,
        }

    return {
        "model": name,
        "plain": comparison.plain and run_as_json(comparison.plain),
        "session": run_as_json(comparison.session),
        "report": asdict(comparison.report),
        "equal": comparison.equal,
    }

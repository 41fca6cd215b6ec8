"""Training within a budget, from the command line. Imports torch."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from planezip.cli.output import print_grids, print_json, stage
from planezip.cli.training import data_source
from planezip.cli.user import checked, prints_on_stderr
from planezip.errors import InputError
from planezip.report.grid import Grid
from planezip.session import Session
from planezip.session.comparison import Comparison, Run, Training, compare
from planezip.units import format_bytes, parse_bytes
from planezip.workloads import UserStep, seed_all, seeded, user_step, workload


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to train.

    Attributes:
        budget: a size such as "2GiB" or a share such as "50%".
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
    plainly: bool


def run(name: str, options: RunOptions) -> Comparison:
    """Train a workload or a user's model within a budget."""
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
    rows = [] if plain is None else [_row("plain", plain, plain)]
    rows.append(_row("within the budget", ours, plain))
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


def step_s(run: Run) -> float:
    """Median time of the steps that are neither profiled nor measured."""
    usual = run.seconds[1:-1] or run.seconds
    return median(usual)


def _row(title: str, run: Run, plain: Run | None) -> tuple[str, ...]:
    def against(ours: float, theirs: float | None) -> str:
        return f"{ours / theirs:.2f}" if theirs else ""

    return (
        title,
        format_bytes(run.peak_bytes),
        against(run.peak_bytes, plain.peak_bytes if plain else None),
        f"{step_s(run):.3f}",
        against(step_s(run), step_s(plain) if plain else None),
        f"{run.losses[-1]:.6g}",
    )


def _as_json(name: str, comparison: Comparison) -> dict[str, Any]:
    def run_as_json(run: Run) -> dict[str, Any]:
        return {
            "peak_bytes": run.peak_bytes,
            "step_s": step_s(run),
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

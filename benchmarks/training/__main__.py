"""Time and memory of training within budgets, beside plain training and its rivals.

    python -m benchmarks.training [--images FOLDER] [--text FILE] [MODEL ...]

All ways to train a model take turns, step by step, in one process, so that their times can be
compared; all begin with the same weights and see the same batches. "at checkpoint's peak" has the
budget that checkpointing every block needs; "copies" recomputes nothing. Activation memory is
counted, resident memory measured in processes of their own. training.csv and training.md are
written with the machine's description beside the other results.
"""

import argparse
import csv
import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median

from benchmarks.training.methods import MODELS, Model, Training, trained_by
from benchmarks.training.resident import resident_bytes

from planezip.errors import OverBudgetError
from planezip.records import to_json, write_atomically
from planezip.report.machine import this_machine
from planezip.session.comparison import PROFILED_STEPS
from planezip.units import format_bytes

RIVALS = ("plain", "checkpoint", "save_on_cpu")
BUDGETS = ("100%", "70%", "50%", "30%")
COPIES = "65% copies"
TIMED_STEPS = 7


@dataclass(frozen=True)
class Row:
    """One way to train one model; ratios are to plain training.

    Attributes:
        step_s: median of forward and backward.
        predicted_s: the same as the plan says.
        peak_bytes: activation memory; parameters, their gradients and the batch left out.
        resident_bytes: of the whole process at most in one step.
        same_losses: whether every step's loss has the bits of plain training's.
    """

    model: str
    batch: int
    method: str
    step_s: float
    step_ratio: float
    predicted_s: float | None
    predicted_ratio: float | None
    peak_bytes: int
    peak_ratio: float
    resident_bytes: int
    resident_ratio: float
    same_losses: bool


def measure(chosen: Model, data: dict[str, Path | None]) -> Iterator[Row]:
    """All ways to train one model."""
    trainings = {name: trained_by(name, chosen, data) for name in RIVALS}
    peaks = {name: t.peak_bytes() for name, t in trainings.items()}
    for training in trainings.values():
        training.rest()
    names = {b: b for b in BUDGETS}
    share = 100 * peaks["checkpoint"] / peaks["plain"]
    names["at checkpoint's peak"] = f"{share:.4f}%"
    if chosen.relu:
        names[COPIES] = COPIES
    for name, method in list(names.items()):
        trainings[name] = trained_by(method, chosen, data)
        try:
            trainings[name].step()
            trainings[name].rest()
        except OverBudgetError as error:
            print(f"{chosen.name}, {name}: {error}")
            del trainings[name], names[name]
    for _ in range(PROFILED_STEPS - 1 + TIMED_STEPS):
        for training in trainings.values():
            training.step()
            training.rest()
    resident = {n: resident_bytes(chosen.name, names.get(n, n), data) for n in trainings}
    plain = trainings["plain"]
    for name, training in trainings.items():
        yield _row(chosen, name, training, plain, peaks, resident)


def _row(
    chosen: Model,
    name: str,
    training: Training,
    plain: Training,
    peaks: dict[str, int],
    resident: dict[str, int],
) -> Row:
    step_s = _step_s(training)
    session = training.session
    peak_bytes = peaks[name] if session is None else session.report().measured_peak_bytes
    predicted_s = None if session is None else session.report().predicted_s
    assert peak_bytes is not None
    if session is not None:
        session.close()
    return Row(
        model=chosen.name,
        batch=chosen.batch,
        method=name,
        step_s=round(step_s, 4),
        step_ratio=round(step_s / _step_s(plain), 4),
        predicted_s=predicted_s and round(predicted_s, 4),
        predicted_ratio=predicted_s and round(predicted_s / step_s, 4),
        peak_bytes=peak_bytes,
        peak_ratio=round(peak_bytes / peaks["plain"], 4),
        resident_bytes=resident[name],
        resident_ratio=round(resident[name] / resident["plain"], 4),
        same_losses=training.losses == plain.losses[: len(training.losses)],
    )


def _step_s(training: Training) -> float:
    return median(training.seconds[-TIMED_STEPS:])


def markdown(rows: list[dict[str, str]]) -> str:
    """The rows as tables."""
    lines = ["# Training within a budget", ""]
    for model in dict.fromkeys(row["model"] for row in rows):
        mine = [row for row in rows if row["model"] == model]
        lines += [
            f"## {model}, batch of {mine[0]['batch']}",
            "| | s a step | of plain | predicted s | activations | of plain | resident "
            "| of plain |",
            "|---|--:|--:|--:|--:|--:|--:|--:|",
            *map(_line, mine),
            "",
        ]
    return "\n".join(lines)


def _line(row: dict[str, str]) -> str:
    cells = (
        row["method"],
        f"{float(row['step_s']):.3f}",
        f"{float(row['step_ratio']):.3f}",
        f"{float(row['predicted_s']):.3f}" if row["predicted_s"] else "",
        format_bytes(int(row["peak_bytes"])),
        f"{float(row['peak_ratio']):.3f}",
        format_bytes(int(row["resident_bytes"])),
        f"{float(row['resident_ratio']):.3f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--images", type=Path)
    parser.add_argument("--text", type=Path)
    told = parser.parse_args()
    data = {"images": told.images, "text": told.text}
    machine = this_machine()
    folder = Path(__file__).parents[1] / "results" / machine.slug
    folder.mkdir(parents=True, exist_ok=True)
    for chosen in MODELS:
        if told.models and chosen.name not in told.models:
            continue
        rows = [_as_text(row) for row in measure(chosen, data)]
        rows += [row for row in _written(folder) if row["model"] != chosen.name]
        rows.sort(key=lambda row: [m.name for m in MODELS].index(row["model"]))
        table = io.StringIO()
        writer = csv.DictWriter(table, [f.name for f in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_atomically(folder / "training.csv", table.getvalue().encode())
        write_atomically(folder / "training.md", markdown(rows).encode())
        write_atomically(folder / "machine.json", to_json(machine))


def _as_text(row: Row) -> dict[str, str]:
    return {name: "" if value is None else str(value) for name, value in asdict(row).items()}


def _written(folder: Path) -> list[dict[str, str]]:
    """The rows of other models that are there already."""
    file = folder / "training.csv"
    return list(csv.DictReader(io.StringIO(file.read_text()))) if file.exists() else []


if __name__ == "__main__":
    main()

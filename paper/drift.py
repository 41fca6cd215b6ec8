"""Why sizes change between iterations: new batches, or updated weights? One at a time.

    python paper/drift.py FOLDER_OF_PHOTOGRAPHS [WARM_UP_STEPS] [--out FOLDER]

captures three iterations of ResNet-50 after a warm-up, once as in training, once with a
learning rate of zero, once with the same batch three times, and writes drift.csv.
"""

from dataclasses import dataclass
from pathlib import Path

from common import arguments

from planezip.planning import wire_size_error
from planezip.records import Capture
from planezip.report.csvs import write_csv
from planezip.tracing import capture_steps
from planezip.workloads import cache_folder, warm_up, workload


@dataclass(frozen=True, slots=True)
class Drift:
    """Ratio of three iterations and wire-size error of the per-tensor predictor, PlaneZip codec."""

    model: str
    variant: str
    precision: str
    ratio_iter1: float
    ratio_iter2: float
    ratio_iter3: float
    err_tensor_pct: float


MODEL, STEPS = "resnet50", 300
VARIANTS = {
    "new batches, updates": (True, True),
    "new batches, frozen weights": (True, False),
    "same batch, updates": (False, True),
}


def capture(images: Path, steps: int, new_batches: bool, updates: bool) -> Capture:
    chosen = workload(MODEL)
    data, model = chosen.data(images, 0), chosen.model(0)
    optimizer = chosen.trainer(model)
    warm_up(chosen, model, optimizer, data, steps, cache=cache_folder())
    if not updates:
        for group in optimizer.param_groups:
            group["lr"] = 0.0
    batches = [
        data.batch(steps + (i if new_batches else 0), chosen.capture_batch) for i in range(3)
    ]
    return capture_steps(
        chosen.compute_loss(model),
        model,
        optimizer,
        batches,
        name=MODEL,
        weights=f"random + {steps} warm-up steps",
        data=data.description,
    )


def rows(variant: str, captured: Capture) -> list[Drift]:
    made = []
    for precision in ("bf16", "fp32"):
        ratios = [
            sum(t.bytes_at(precision) for t in tensors)
            / sum(t.wire_bytes(precision, "planezip") for t in tensors)
            for tensors in captured.iterations
        ]
        error_pct = 100 * wire_size_error(captured.iterations, precision, "planezip")
        made.append(Drift(MODEL, variant, precision, *ratios, error_pct))
    return made


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("images", type=Path)
    parser.add_argument("steps", type=int, nargs="?", default=STEPS)
    given = parser.parse_args()
    table = [
        row
        for variant, settings in VARIANTS.items()
        for row in rows(variant, capture(given.images, given.steps, *settings))
    ]
    write_csv(given.out / "drift.csv", Drift, table)


if __name__ == "__main__":
    main()

"""Runs ResNet-50 and writes what all tables and figures are made from.

    python paper/measure.py FOLDER_OF_PHOTOGRAPHS [WARM_UP_STEPS]

writes into paper/results/<machine>/: trace.json.gz (the training iteration at the paper's batch),
trained.json.gz (a capture after 300 warm-up steps, or as many as asked for), random.json.gz (a
capture at random initialisation) and machine.json. The warm-up can be interrupted and resumed.
"""

import sys
from pathlib import Path

from common import RESULTS

from planezip.cli.training import CaptureOptions, capture_model, trace_model
from planezip.records import save
from planezip.report.machine import this_machine

MODEL, STEPS = "resnet50", 300


def main() -> None:
    images = Path(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else STEPS
    machine = this_machine()
    folder = RESULTS / machine.slug
    save(folder / "machine.json", machine)
    save(folder / "trace.json.gz", trace_model(MODEL))
    for name, warmup_steps in (("random", 0), ("trained", steps)):
        capture = capture_model(MODEL, CaptureOptions(images=images, warmup_steps=warmup_steps))
        save(folder / f"{name}.json.gz", capture)


if __name__ == "__main__":
    main()

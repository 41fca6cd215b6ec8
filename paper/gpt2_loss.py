"""Does GPT-2 learn in the steps before its capture? Loss on a text that it was not trained on.

    python paper/gpt2_loss.py TRAINING_TEXT OTHER_TEXT [WARM_UP_STEPS] [--out FOLDER]

writes gpt2_loss.csv: mean loss of the next token over sequences of the other text, before and after
the warm-up that `planezip measure` makes, with the vocabulary learned on the training text.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from common import arguments

from planezip.report.csvs import write_csv
from planezip.workloads import cache_folder, warmed_up, workload
from planezip.workloads.language import TOKENS
from planezip.workloads.text import tokenise

SEQUENCES, STEPS = 16, 300


@dataclass(frozen=True, slots=True)
class Loss:
    """Mean loss over `sequences` sequences of 1,024 tokens after so many steps."""

    model: str
    steps: int
    sequences: int
    loss: float


def measured(training: Path, other: Path, steps: int) -> Loss:
    chosen = workload("gpt2")
    model = warmed_up(
        chosen, chosen.data(training, 0), steps, batch=None, seed=0, cache=cache_folder()
    ).model.eval()
    tokens = torch.from_numpy(tokenise(other.read_text(), training.read_text()).copy())
    sequences = tokens[: len(tokens) // TOKENS * TOKENS].view(-1, TOKENS)[:SEQUENCES]
    with torch.no_grad():
        losses = [float(chosen.loss(model, (tokens[None],))) for tokens in sequences]
    return Loss("gpt2", steps, len(losses), sum(losses) / len(losses))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("training", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("steps", type=int, nargs="?", default=STEPS)
    given = parser.parse_args()
    rows = [measured(given.training, given.other, count) for count in (0, given.steps)]
    write_csv(given.out / "gpt2_loss.csv", Loss, rows)
    for row in rows:
        print(f"after {row.steps} steps: {row.loss:.2f}")


if __name__ == "__main__":
    main()

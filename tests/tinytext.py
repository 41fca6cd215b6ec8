"""A language model that trains in a blink, on a real text."""

import torch

from planezip.workloads import Workload
from planezip.workloads.text import Text, python_documentation

VOCABULARY, TOKENS = 50_257, 8


def tinytext() -> Workload:
    """An embedding and a classifier, under the name of a model that the paper has."""
    return Workload(
        name="gpt2",
        title="GPT-2",
        batch=4,
        capture_batch=1,
        learning_rate=0.01,
        adam=True,
        build=lambda: torch.nn.Sequential(
            torch.nn.Embedding(VOCABULARY, 4), torch.nn.Dropout(0.1), torch.nn.Linear(4, 64)
        ),
        checkpoint=None,
        placeholder=lambda size: (torch.zeros(size, TOKENS, dtype=torch.int64),),
        data=lambda path, seed: (
            Text.from_file(path, seed, TOKENS) if path else python_documentation(seed, TOKENS)
        ),
        source="text",
        loss=lambda model, batch: torch.nn.functional.cross_entropy(
            model(batch[0]).flatten(0, 1), batch[0].flatten() % 64
        ),
    )

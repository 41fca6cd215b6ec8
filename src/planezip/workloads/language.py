"""Language models from Hugging Face transformers, trained on a text (paper Table I)."""

from pathlib import Path
from typing import Any

import torch

from planezip.workloads.text import VOCABULARY, Text, python_documentation
from planezip.workloads.workload import Batch, Workload

TOKENS = 1024
"""Length of a sequence."""


class CausalLM(torch.nn.Module):
    """Logits of the next token for int64 tokens (size, TOKENS).

    Positions and the causal mask are made once, beforehand: a model that makes its own looks at the
    values of tensors, which on the meta device have none.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model
        forbidden = torch.full((1, 1, TOKENS, TOKENS), torch.finfo(torch.float32).min)
        self.register_buffer("mask", forbidden.triu(1), persistent=False)
        self.register_buffer("positions", torch.arange(TOKENS)[None], persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        output: Any = self.model(
            input_ids=tokens,
            attention_mask=self.mask,
            position_ids=self.positions,
            use_cache=False,
        )
        logits: torch.Tensor = output.logits
        return logits


def gpt2() -> Workload:
    """GPT-2 with 124 M parameters and attention that saves its probabilities, batch 8 x 1024."""
    return Workload(
        name="gpt2",
        title="GPT-2",
        batch=8,
        capture_batch=1,
        learning_rate=3e-4,
        adam=True,
        build=_gpt2,
        checkpoint=None,
        placeholder=_placeholder,
        data=_data,
        source="text",
        loss=next_token_loss,
    )


def _gpt2() -> torch.nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=VOCABULARY, attn_implementation="eager")
    return CausalLM(GPT2LMHeadModel(config))


def _placeholder(size: int) -> Batch:
    return (torch.zeros(size, TOKENS, dtype=torch.int64),)


def _data(path: Path | None, seed: int) -> Text:
    if path is None:
        return python_documentation(seed, TOKENS)
    return Text.from_file(path, seed, TOKENS)


def next_token_loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """Mean cross entropy of every token but the first, given those before it."""
    (tokens,) = batch
    logits = model(tokens)[:, :-1].flatten(0, 1)
    return torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten())

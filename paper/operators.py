"""Table I's operators and saved tensors, counted in the way that gives the paper's numbers.

    python paper/operators.py [--out FOLDER]

writes operators.csv. A trace of this package holds what an iteration runs without an observer:
forward pass, backward pass and a step of SGD. From row to row one thing changes: the optimizer is
left out; then the detaches are counted that saved-tensor hooks cause; then the model is the one
that the paper's numbers tell of.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import timm
import torch
from common import arguments
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import GPT2Config, GPT2LMHeadModel

from planezip.records.measurements import PAPER_MODELS
from planezip.report.csvs import write_csv
from planezip.report.published import paper
from planezip.tracing import trace_step
from planezip.tracing.dropout import FusedDropout
from planezip.workloads import Batch, workload
from planezip.workloads.language import TOKENS, next_token_loss

Loss = Callable[..., torch.Tensor]
STOCHASTIC_DEPTH = 0.1


@dataclass(frozen=True, slots=True)
class Operators:
    """One way to count one training iteration; the loss itself is among the saved tensors."""

    model: str
    counted: str
    operators: int
    saved_tensors: int
    paper_operators: int
    paper_saved_tensors: int


class Count(TorchDispatchMode):
    """Counts ATen operators."""

    operators = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operators += func.namespace == "aten"
        return func(*args, **kwargs or {})


def with_hooks(loss: Loss, batch: Batch) -> int:
    """Operators of forward and backward pass under hooks that keep saved tensors as they are."""
    count = Count()
    with FusedDropout(), count, saved_tensors_hooks(lambda t: t, lambda t: t):
        loss(*batch).backward()
    return count.operators


def rows(name: str) -> Iterator[Operators]:
    chosen, theirs = workload(name), paper().models[name]
    published = (theirs.ops, theirs.saved_tensors)
    with chosen.without_data(chosen.batch) as (model, batch):
        loss = chosen.compute_loss(model)
        trace = trace_step(loss, model, chosen.optimizer(model), batch).trace
        saved = len(trace.saved) + 1
        backward_end = sum(op.phase != "optimizer" for op in trace.ops)
        yield Operators(name, "whole iteration", len(trace.ops), saved, *published)
        yield Operators(name, "forward and backward", backward_end, saved, *published)
        yield Operators(name, "hooks' detaches too", with_hooks(loss, batch), saved, *published)
    if name in VARIANTS:
        counted, build = VARIANTS[name]
        with build(chosen.batch) as (model, loss, batch):
            trace = trace_step(loss, model, chosen.optimizer(model), batch).trace
            saved = len(trace.saved) + 1
            yield Operators(name, counted, with_hooks(loss, batch), saved, *published)


@contextmanager
def vit(size: int) -> Iterator[tuple[torch.nn.Module, Loss, Batch]]:
    """ViT-B/16 that skips branches at random; the first block's rate is 0, so that it has none."""
    chosen = workload("vit_base_patch16_224")
    with torch.device("meta"):
        model: Any = timm.create_model(chosen.name, drop_path_rate=STOCHASTIC_DEPTH).train()
        batch = chosen.placeholder(size)
    for block in model.blocks:
        block.attn.fused_attn = False
    yield model, chosen.compute_loss(model), batch


@contextmanager
def gpt2(size: int) -> Iterator[tuple[torch.nn.Module, Loss, Batch]]:
    """GPT-2 that makes its causal mask in the forward pass and takes positions with the batch.

    Its search for several texts in one sequence looks at values, which meta tensors have not.
    """
    with torch.device("meta"):
        model = GPT2LMHeadModel(GPT2Config(attn_implementation="eager")).train()
        tokens = torch.zeros(size, TOKENS, dtype=torch.int64)
        positions = torch.arange(TOKENS)[None]

    def loss(tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        def logits(tokens: torch.Tensor) -> torch.Tensor:
            return model(input_ids=tokens, position_ids=positions, use_cache=False).logits

        return next_token_loss(logits, (tokens,))  # type: ignore[arg-type]

    with patch("transformers.masking_utils.find_packed_sequence_indices", lambda positions: None):
        yield model, loss, (tokens, positions)


VARIANTS = {
    "vit_base_patch16_224": ("stochastic depth too", vit),
    "gpt2": ("mask in the forward pass too", gpt2),
}

ROW = Operators


def table() -> list[Operators]:
    return [row for name in PAPER_MODELS for row in rows(name)]


def main() -> None:
    folder = arguments(__doc__).parse_args().out
    made = table()
    write_csv(folder / "operators.csv", ROW, made)
    for row in made:
        print(f"{row.model:22}{row.counted:30}{row.operators:6}{row.paper_operators:6}"
              f"{row.saved_tensors:5}{row.paper_saved_tensors:5}")  # fmt: skip


if __name__ == "__main__":
    main()

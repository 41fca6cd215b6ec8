"""Language models from Hugging Face transformers, trained on a text (paper Table I)."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from planezip.workloads.text import VOCABULARY, Text, python_documentation
from planezip.workloads.workload import Batch, Workload

TOKENS = 1024
"""Length of a sequence, unless another is asked for; none is longer."""
LIBRARIES = ("tokenizers", "transformers")


class CausalLM(torch.nn.Module):
    """Logits of the next token for int64 tokens (size, length), by default TOKENS long.

    Positions and the causal mask are made once, beforehand: a model that makes its own looks at the
    values of tensors, which on the meta device have none. Fused attention needs no mask.
    """

    mask: torch.Tensor | None

    def __init__(
        self, model: torch.nn.Module, masked: bool = True, length: int | None = None
    ) -> None:
        super().__init__()
        self.model = model
        mask = None
        length = length or TOKENS
        if masked:
            lowest = torch.finfo(torch.float32).min
            mask = torch.full((1, 1, length, length), lowest).triu(1)
        self.register_buffer("mask", mask, persistent=False)
        self.register_buffer("positions", torch.arange(length)[None], persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        output: Any = self.model(
            input_ids=tokens,
            attention_mask=self.mask,
            position_ids=self.positions,
            use_cache=False,
        )
        logits: torch.Tensor = output.logits
        return logits


def gpt2(tokens: int | None = None) -> Workload:
    """GPT-2 with 124 M parameters and attention that saves its probabilities, batch 8 x 1024.

    Args:
        tokens: length of a sequence; None for TOKENS.
    """
    length = tokens or TOKENS
    return Workload(
        name="gpt2",
        title="GPT-2",
        batch=8,
        capture_batch=1,
        learning_rate=3e-4,
        adam=True,
        build=partial(_gpt2, length),
        checkpoint=None,
        placeholder=partial(_placeholder, length),
        data=partial(_data, length),
        source="text",
        loss=next_token_loss,
        libraries=LIBRARIES,
    )


def gpt2_fused(tokens: int | None = None) -> Workload:
    """GPT-2 with fused attention, which computes its probabilities again instead of saving them.

    Its attention has no dropout: the fused kernel of the CPU knows none, and torch would fall back
    to attention that is not fused. The other dropout layers are GPT-2's.
    """
    return replace(
        gpt2(tokens),
        name="gpt2_fused",
        title="GPT-2, fused attention",
        build=partial(_gpt2_fused, tokens or TOKENS),
        fake=True,
    )


def llama(tokens: int | None = None) -> Workload:
    """A small decoder of Llama's kind in BF16 mixed precision: 114 M parameters, 8 x 1024 tokens.

    RMSNorm, SwiGLU, rotary positions, grouped-query fused attention (12 heads, 4 for keys and
    values), no dropout, tied embeddings.
    """
    return replace(
        gpt2(tokens),
        name="llama",
        title="Llama",
        build=partial(_llama, tokens or TOKENS),
        loss=mixed_precision_loss,
        fake=True,
    )


def _gpt2(length: int) -> torch.nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=VOCABULARY, attn_implementation="eager")
    return CausalLM(GPT2LMHeadModel(config), length=length)


def _gpt2_fused(length: int) -> torch.nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=VOCABULARY, attn_pdrop=0.0, attn_implementation=_register_attention()
    )
    return CausalLM(GPT2LMHeadModel(config), masked=False, length=length)


def _llama(length: int) -> torch.nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=768,
        intermediate_size=2048,
        num_hidden_layers=12,
        num_attention_heads=12,
        num_key_value_heads=4,
        max_position_embeddings=TOKENS,
        tie_word_embeddings=True,
        attn_implementation=_register_attention(),
    )
    return CausalLM(LlamaForCausalLM(config), masked=False, length=length)


def _register_attention() -> str:
    """Make fused causal attention known to transformers; its name there.

    The library's own one decides by the values of positions whether it needs a mask.
    """
    from transformers import AttentionInterface

    name = "planezip_causal"
    AttentionInterface.register(name, _causal_attention)
    return name


def _causal_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **options: object,
) -> tuple[torch.Tensor, None]:
    """Attention in the interface of transformers: (size, heads, tokens, width) to token-major."""
    result = torch.nn.functional.scaled_dot_product_attention(
        query,
        key,
        value,
        dropout_p=dropout,
        is_causal=True,
        scale=scaling,
        enable_gqa=query.shape[1] != key.shape[1],
    )
    return result.transpose(1, 2), None


def _placeholder(length: int, size: int) -> Batch:
    return (torch.zeros(size, length, dtype=torch.int64),)


def _data(length: int, path: Path | None, seed: int) -> Text:
    if path is None:
        return python_documentation(seed, length)
    return Text.from_file(path, seed, length)


def next_token_loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """Mean cross entropy of every token but the first, given those before it."""
    (tokens,) = batch
    logits = model(tokens)[:, :-1].flatten(0, 1)
    return torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten())


def mixed_precision_loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """`next_token_loss` of a model under BF16 autocast; the loss itself is computed in FP32."""
    (tokens,) = batch
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(tokens)
    logits = logits[:, :-1].flatten(0, 1).float()
    return torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten())

"""Language models: Table I's GPT-2, and two that show what newer attention changes."""

from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest
import torch

from planezip.errors import InputError
from planezip.records import Trace
from planezip.tracing import trace_step
from planezip.workloads import WORKLOADS, language, workload
from planezip.workloads.language import CausalLM

FUSED = "aten._scaled_dot_product_flash_attention_for_cpu.default"
DROPOUT = "aten.native_dropout.default"


@cache
def traced(name: str, size: int | None = None) -> Trace:
    chosen = workload(name)
    size = size or chosen.batch
    with chosen.without_data(size) as (model, batch):
        loss, sgd = chosen.compute_loss(model), chosen.optimizer(model)
        return trace_step(loss, model, sgd, batch, name=name, batch_size=size).trace


def saved_by(trace: Trace) -> Counter[tuple[str, str]]:
    """Bytes of saved activations by producing operator and element type."""
    found: Counter[tuple[str, str]] = Counter()
    for s in map(trace.storages.__getitem__, trace.saved):
        found[trace.ops[s.producer].name if s.producer >= 0 else "input", s.dtype] += s.bytes
    return found


def test_gpt2_is_the_papers() -> None:
    trace = traced("gpt2")
    assert (trace.parameters, trace.batch) == (124_439_808, 8)
    assert trace.saved == trace.saved_by_hooks
    assert len(trace.saved) == pytest.approx(275, rel=0.02)
    assert trace.saved_bytes == pytest.approx(21.2e9, rel=0.02)
    assert len(trace.ops) == pytest.approx(2115, rel=0.10)


def test_gpt2_saves_dropout_masks_of_one_byte() -> None:
    trace = traced("gpt2")
    elements = 8 * 1024 * 768
    expected = 12 * 8 * 12 * 1024 * 1024 + (1 + 2 * 12) * elements
    assert saved_by(trace)[DROPOUT, "bool"] == expected


def test_fused_attention_saves_no_probabilities() -> None:
    eager, fused = traced("gpt2"), traced("gpt2_fused")
    assert fused.parameters == eager.parameters
    assert sum(op.name == FUSED for op in fused.ops) == 12
    assert not any(op.name.removeprefix("aten.") == "_softmax.default" for op in fused.ops)
    # A layer no longer saves the probabilities, what dropout left of them and its mask, 9 bytes an
    # element, but a logarithm for every row.
    rows = 12 * 8 * 12 * 1024
    assert eager.saved_bytes - fused.saved_bytes == rows * 1024 * 9 - rows * 4
    assert sum(op.flops for op in fused.ops) > 0.95 * sum(op.flops for op in eager.ops)


def test_llama_is_a_modern_decoder_in_bf16() -> None:
    trace = traced("llama")
    assert trace.parameters == 114_114_048
    assert sum(op.name == FUSED for op in trace.ops) == 12
    assert not any("dropout" in op.name for op in trace.ops)
    assert any("silu" in op.name for op in trace.ops)
    types = Counter(trace.storages[s].dtype for s in trace.saved)
    assert types["bfloat16"] > types["float32"] > 0
    # Grouped queries: keys and values have a third of the heads.
    attention = next(op for op in trace.ops if op.name == FUSED)
    query, key, value = (trace.storages[s].bytes for s in attention.reads)
    assert (query, key, value) == (8 * 1024 * 768 * 2, query // 3, query // 3)


SMALL = {"vocab_size": 300, "bos_token_id": 0, "eos_token_id": 0}


def small_gpt2(attention: str, **options: float) -> CausalLM:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        n_embd=24, n_head=3, n_layer=2, attn_implementation=attention, **SMALL, **options
    )
    return CausalLM(GPT2LMHeadModel(config), masked=attention == "eager")


def small_llama() -> CausalLM:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=24,
        intermediate_size=40,
        num_hidden_layers=2,
        num_attention_heads=3,
        num_key_value_heads=1,
        tie_word_embeddings=True,
        attn_implementation=language._register_attention(),
        **SMALL,
    )
    return CausalLM(LlamaForCausalLM(config), masked=False)


SMALL_MODELS: dict[str, Callable[[], CausalLM]] = {
    "gpt2": lambda: small_gpt2("eager"),
    "gpt2_fused": lambda: small_gpt2(language._register_attention(), attn_pdrop=0.0),
    "llama": small_llama,
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few tokens, and models that are small."""
    monkeypatch.setattr(language, "TOKENS", 12)
    for name, build in SMALL_MODELS.items():
        monkeypatch.setattr(language, f"_{name}", lambda length, build=build: build())


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_a_trace_without_data_is_that_of_a_real_run(name: str, size: int) -> None:
    chosen = workload(name)
    with chosen.without_data(size) as (model, batch):
        loss, sgd = chosen.compute_loss(model), chosen.optimizer(model)
        abstract = trace_step(loss, model, sgd, batch).trace
    model, batch = chosen.model(), chosen.placeholder(size)
    real = trace_step(chosen.compute_loss(model), model, chosen.optimizer(model), batch).trace
    assert abstract == real


@pytest.mark.usefixtures("small")
def test_a_trace_under_autocast_is_that_of_a_real_run() -> None:
    chosen = workload("gpt2")
    with chosen.without_data(2, autocast=True) as (model, batch):
        loss, sgd = chosen.compute_loss(model, True), chosen.optimizer(model)
        abstract = trace_step(loss, model, sgd, batch).trace
    model, batch = chosen.model(), chosen.placeholder(2)
    loss, sgd = chosen.compute_loss(model, True), chosen.optimizer(model)
    assert abstract == trace_step(loss, model, sgd, batch).trace
    assert any(s.dtype == "bfloat16" for s in abstract.storages)
    assert abstract.parameters == sum(p.numel() for p in model.parameters())  # ties are kept


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_no_token_sees_a_later_one(name: str) -> None:
    model = workload(name).model().eval()
    tokens = torch.arange(12)[None]
    changed = tokens.clone()
    changed[0, 7] = 99
    with torch.no_grad():
        before, after = model(tokens), model(changed)
    assert torch.equal(before[:, :7], after[:, :7])
    assert not torch.equal(before[:, 7:], after[:, 7:])


@pytest.mark.usefixtures("small")
def test_fused_attention_computes_what_the_other_does() -> None:
    torch.manual_seed(0)
    eager = small_gpt2("eager", attn_pdrop=0.0).eval()
    fused = SMALL_MODELS["gpt2_fused"]().eval()
    fused.load_state_dict(eager.state_dict())
    tokens = torch.randint(300, (2, 12))
    torch.testing.assert_close(fused(tokens), eager(tokens))


@pytest.mark.usefixtures("small")
def test_the_loss_in_mixed_precision_is_nearly_that_in_fp32() -> None:
    model, tokens = small_llama().train(), torch.randint(300, (2, 12))
    exact = language.next_token_loss(model, (tokens,))
    mixed = language.mixed_precision_loss(model, (tokens,))
    assert mixed.dtype == torch.float32
    assert mixed != exact
    torch.testing.assert_close(mixed, exact, rtol=0.01, atol=0.0)


def test_every_workload_says_what_it_trains_on() -> None:
    sources = {name: make().source for name, make in WORKLOADS.items()}
    texts = {name for name, source in sources.items() if source == "text"}
    assert texts == set(SMALL_MODELS)


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_sequences_can_be_shorter(name: str) -> None:
    chosen = workload(name, 16)
    (tokens,) = chosen.placeholder(3)
    assert tokens.shape == (3, 16)
    with chosen.without_data(1) as (model, _):
        assert model.positions.shape == (1, 16)
        assert model.mask is None or model.mask.shape == (1, 1, 16, 16)


@pytest.mark.parametrize("tokens", [0, 1, 1025])
def test_sequences_of_an_impossible_length_are_refused(tokens: int) -> None:
    with pytest.raises(InputError, match=f"2 to 1024 tokens, not {tokens}"):
        workload("gpt2", tokens)


def test_photographs_have_no_tokens() -> None:
    with pytest.raises(InputError, match="leave out --tokens"):
        workload("resnet50", 64)

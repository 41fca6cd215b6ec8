"""In mixed precision every tensor counts with the type that it has, whatever the platform."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

from planezip.records import Trace, from_json, platforms, to_json
from planezip.records.costs import op_seconds, peak_activation_bytes
from planezip.tracing import capture_steps, trace_step
from spy_codec import Spy

Step = tuple[nn.Module, Callable[..., torch.Tensor], tuple[torch.Tensor, ...]]


class Block(nn.Module):
    """Attention that is fused, and a norm that stays in FP32."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, 2, 8)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.norm(x + self.out(y.transpose(1, 2).flatten(2)).float())


def step(autocast: bool = True) -> Step:
    torch.manual_seed(0)
    model = Block()

    def loss(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            return model(x).square().mean()

    return model, loss, (torch.randn(4, 32, 16),)


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)


def traced(autocast: bool = True) -> Trace:
    model, loss, batch = step(autocast)
    return trace_step(loss, model, sgd(model), batch, name="block").trace


def test_bf16_and_fp32_activations_are_recorded_as_they_are() -> None:
    trace = traced()
    saved = {trace.storages[s].dtype for s in trace.saved}
    assert {"bfloat16", "float32"} <= saved
    assert all(s.final for s in trace.storages)
    assert all(s.bytes_at("bf16") == s.bytes_at("fp32") == s.bytes for s in trace.storages)
    assert all(op.fp32_bytes == 0 for op in trace.ops)
    assert all(op.bytes_at("bf16") == op.bytes_at("fp32") for op in trace.ops)
    assert any(op.other_bytes for op in trace.ops)
    assert peak_activation_bytes(trace, "bf16") == peak_activation_bytes(trace, "fp32")


def test_traffic_is_that_of_the_elements() -> None:
    """The same operators without the mark move the same bytes, of which FP32 ones would halve."""
    trace = traced()
    gelu = next(o for o in trace.ops if "native_layer_norm.default" in o.name)
    # x in, y out, mean and reciprocal deviation of a row out, weight and bias in; all FP32.
    assert gelu.other_bytes == 4 * (2 * 4 * 32 * 16 + 2 * 4 * 32 + 2 * 16)


def test_an_fp32_pass_stands_for_a_bf16_one_as_ever() -> None:
    trace = traced(autocast=False)
    assert not any(s.final for s in trace.storages)
    fp32 = [s for s in trace.storages if s.dtype == "float32"]
    assert all(s.bytes_at("bf16") == s.bytes // 2 for s in fp32)


def test_half_precision_inputs_alone_do_not_make_a_pass_mixed() -> None:
    model = nn.Linear(4, 2)
    x = torch.ones(3, 4, dtype=torch.bfloat16)
    trace = trace_step(lambda x: model(x.float()).sum(), model, sgd(model), (x,)).trace
    assert not any(s.final for s in trace.storages)


def test_fake_tensors_record_exactly_what_a_real_run_does() -> None:
    real = traced()
    with FakeTensorMode():
        fake = traced()
    assert fake == real
    assert "aten._scaled_dot_product_flash_attention_for_cpu.default" in {o.name for o in real.ops}


def test_fused_attention_counts_the_operations_of_its_products() -> None:
    ops = {op.name: op.flops for op in traced().ops}
    product = 2 * 4 * 2 * 32 * 32 * 8  # batch, heads, tokens, tokens, width
    assert ops["aten._scaled_dot_product_flash_attention_for_cpu.default"] == 2 * product
    assert ops["aten._scaled_dot_product_flash_attention_for_cpu_backward.default"] == 5 * product


def test_captures_compress_the_tensors_themselves() -> None:
    model, loss, batch = step()
    spy = Spy()
    capture = capture_steps(
        loss, model, sgd(model), [batch], name="b", weights="random", data="noise", codec=spy
    )
    tensors = capture.iterations[0]
    assert all(t.final and t.sizes["bf16"] == t.sizes["fp32"] for t in tensors)
    assert all(t.bytes_at("bf16") == t.bytes for t in tensors)
    # Real BF16 is measured at its own width and at 32 bits, FP32 once and never rounded.
    halves = sum(t.dtype == "bfloat16" for t in tensors)
    assert halves > 3
    assert sum(dtype == torch.bfloat16 for dtype, _, _ in spy.asked) == 2 * halves
    assert len(spy.asked) == len(tensors) + halves


def test_files_of_before_are_not_final() -> None:
    trace = traced(autocast=False)
    old = to_json(trace).replace(b',"final":false', b"")
    assert b"final" not in old
    assert from_json(old, Trace, "old") == trace


@pytest.mark.parametrize("platform", platforms().values(), ids=lambda p: p.name)
def test_durations_follow_the_elements_on_both_platforms(platform) -> None:
    trace = traced()
    as_fp32 = replace(platform, precision="fp32")
    assert op_seconds(trace, platform) == op_seconds(trace, as_fp32)

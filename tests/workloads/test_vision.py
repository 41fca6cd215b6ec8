"""The image classifiers are Table I's."""

import pytest

from planezip.tracing import trace_step
from planezip.workloads import workload

# Parameters in millions, saved tensors here, saved GB and operators in the paper. ViT-B/16 has 211
# saved tensors there.
TABLE1 = {
    "densenet121": (8.0, 494, 16.7, 3162),
    "efficientnet_b0": (5.3, 314, 11.3, 1276),
    "vit_base_patch16_224": (86.6, 189, 9.0, 1910),
}


@pytest.mark.parametrize("name", TABLE1)
def test_a_trace_has_the_papers_sizes(name: str) -> None:
    millions, tensors, gigabytes, ops = TABLE1[name]
    chosen = workload(name)
    with chosen.without_data(chosen.batch) as (model, batch):
        loss, sgd = chosen.compute_loss(model), chosen.optimizer(model)
        trace = trace_step(loss, model, sgd, batch, name=name).trace
    assert trace.batch == chosen.batch
    assert round(trace.parameters / 1e6, 1) == millions
    # Whoever lets `ones_like` read the loss at the start of backward counts one more.
    assert len(trace.saved) + 1 == tensors
    assert not trace.ops[trace.forward_end].reads
    assert trace.ops[trace.forward_end].name == "aten.ones_like.default"
    assert trace.saved_bytes == pytest.approx(gigabytes * 1e9, rel=0.02)
    assert len(trace.ops) == pytest.approx(ops, rel=0.1)
    assert trace.saved == trace.saved_by_hooks

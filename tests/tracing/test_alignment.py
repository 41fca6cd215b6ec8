"""A capture on the CPU at a small batch fits the meta trace at the training batch."""

import torch

from planezip.records.align import align
from planezip.tracing import capture_steps, trace_step
from planezip.workloads import workload
from spy_codec import Spy


def test_every_saved_activation_of_resnet50_finds_its_capture() -> None:
    chosen = workload("resnet50")
    with torch.device("meta"):
        model, batch = chosen.model(), chosen.placeholder(chosen.batch)
    trace = trace_step(
        chosen.compute_loss(model), model, chosen.optimizer(model), batch, name="resnet50"
    ).trace

    # Small images do, since a convolutional network runs the same operators on any size.
    model = chosen.model()
    small = (torch.randn(2, 3, 64, 64), torch.tensor([0, 1]))
    capture = capture_steps(
        chosen.compute_loss(model),
        model,
        chosen.optimizer(model),
        [small],
        name="resnet50",
        weights="random",
        data="noise",
        codec=Spy(),
    )
    alignment = align(capture, trace)
    assert alignment.unmatched_bytes == 0
    assert {t.op_name for t in alignment.matches.values() if t} >= {
        "input",
        "aten.convolution.default",
        "aten.relu_.default",
        "aten.max_pool2d_with_indices.default",
    }
    for s, tensor in alignment.matches.items():
        assert tensor is not None
        if trace.storages[s].kind == "input":
            assert tensor.op == -1
        else:
            assert capture.op_names[tensor.op] == trace.ops[trace.storages[s].producer].name

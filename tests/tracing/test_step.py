"""A traced iteration: phases, kinds of storages, and the devices that it works on."""

from collections import Counter
from importlib.metadata import version

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from nets import SHAPES, Residual, Views, loss_of, make
from planezip.errors import InputError
from planezip.records import Trace, from_json, to_json
from planezip.tracing import trace_step


def traced(optimizer: type[torch.optim.Optimizer] = torch.optim.SGD, **options: object) -> Trace:
    model, batch = make(Residual, "meta")
    return trace_step(
        loss_of(model), model, optimizer(model.parameters(), **options), batch, name="residual"
    ).trace


def test_phases_follow_one_another() -> None:
    phases = [op.phase for op in traced().ops]
    assert list(dict.fromkeys(phases)) == ["forward", "backward", "optimizer"]
    assert phases == sorted(phases, key=["forward", "backward", "optimizer"].index)


def test_forward_ends_where_backward_begins() -> None:
    trace = traced()
    assert trace.ops[trace.forward_end - 1].name == "aten.nll_loss_forward.default"
    assert trace.ops[trace.forward_end].name == "aten.ones_like.default"


def test_every_storage_has_its_kind() -> None:
    trace = traced()
    kinds = Counter(s.kind for s in trace.storages)
    assert kinds["parameter"] == kinds["parameter_gradient"] == 6
    assert kinds["buffer"] == 3
    assert kinds["input"] == 2
    assert kinds["optimizer_state"] == 0
    assert all(s.producer == -1 for s in trace.storages if s.kind in ("parameter", "input"))
    assert all(s.producer >= 0 for s in trace.storages if s.kind == "activation")


@pytest.mark.parametrize("foreach", [False, True])
def test_optimizer_state_and_its_temporaries_are_no_activations(foreach: bool) -> None:
    model, batch = make(Residual)
    adam = torch.optim.Adam(model.parameters(), foreach=foreach)
    first = trace_step(loss_of(model), model, adam, batch).trace
    second = trace_step(loss_of(model), model, adam, batch).trace
    for trace in (first, second):
        written = {s for op in trace.ops if op.phase == "optimizer" for s in op.writes}
        kinds = {trace.storages[s].kind for s in written}
        assert kinds == {"parameter", "optimizer_state"}
    assert first.saved == first.saved_by_hooks
    assert sum(s.kind == "optimizer_state" and s.producer < 0 for s in second.storages) >= 18


def test_gradients_do_not_accumulate_over_iterations() -> None:
    model, batch = make(Residual)
    sgd = torch.optim.SGD(model.parameters(), foreach=False)
    one, two = (trace_step(loss_of(model), model, sgd, batch).trace for _ in range(2))
    assert one == two


def test_the_batch_has_its_slots() -> None:
    trace = traced()
    inputs = [s for s in trace.storages if s.kind == "input"]
    assert [(s.slot, s.dtype, s.producer) for s in inputs] == [(0, "float32", -1), (1, "int64", -1)]
    assert trace.batch == 2


def test_a_batch_that_the_loss_brings_along_is_recognised() -> None:
    model, batch = make(Residual, "meta")
    sgd = torch.optim.SGD(model.parameters())
    given = trace_step(loss_of(model), model, sgd, batch).trace
    brought = trace_step(lambda: loss_of(model)(*batch), model, sgd, batch_size=2).trace
    kinds = [[s.kind for s in map(t.storages.__getitem__, t.saved)] for t in (given, brought)]
    assert sorted(kinds[0]) == sorted(kinds[1])
    assert given.saved_bytes == brought.saved_bytes


@pytest.mark.parametrize("net", SHAPES, ids=lambda net: net.__name__)
def test_meta_and_cpu_traces_agree(net: type[nn.Module]) -> None:
    traces = []
    for device in ("cpu", "meta"):
        model, batch = make(net, device)
        trainable = [p for p in model.parameters() if p.requires_grad]
        sgd = torch.optim.SGD(trainable, foreach=False)
        traces.append(trace_step(loss_of(model), model, sgd, batch).trace)
    assert traces[0] == traces[1]


@pytest.mark.parametrize("net", [Residual, Views])
def test_fake_tensors_agree_with_meta_tensors_on_what_is_saved(net: type[nn.Module]) -> None:
    def trace() -> Trace:
        model, batch = make(net)
        return trace_step(
            loss_of(model), model, torch.optim.SGD(model.parameters(), foreach=False), batch
        ).trace

    real = trace()
    with FakeTensorMode():
        fake = trace()
    assert fake.saved == fake.saved_by_hooks
    assert fake.saved_bytes == real.saved_bytes
    assert len(fake.saved) == len(real.saved)


def test_a_trace_survives_json() -> None:
    trace = traced()
    assert from_json(to_json(trace), Trace, "trace") == trace


def test_versions_are_recorded() -> None:
    versions = traced().versions
    assert versions is not None
    assert versions["torch"] == version("torch")
    assert versions["planezip"] == version("planezip")


def test_sparse_gradients_are_refused() -> None:
    model = nn.Embedding(10, 3, sparse=True)
    with pytest.raises(InputError, match="strided"):
        trace_step(
            lambda i: model(i).sum(),
            model,
            torch.optim.SGD(model.parameters()),
            (torch.zeros(2, dtype=torch.int64),),
        )

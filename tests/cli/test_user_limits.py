"""What users' models do that traces and captures can or cannot follow; one line where not."""

import os
import sys
import warnings

import pytest

from planezip.records import Capture, Trace, load

HEAD = """import asyncio, threading, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
"""


def write(here, model, loss="model(torch.randn(batch, 5)).square().mean()", before=""):
    (here / "own.py").write_text(
        f"{HEAD}def make_step(batch: int = 4):\n    model = {model}\n    {before}\n"
        f"    def compute_loss():\n        return {loss}\n    return model, compute_loss\n"
    )


MLP = "nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))"
WORKING = {
    "converted": (
        f"{MLP}.to(torch.bfloat16)",
        "model(torch.randn(batch, 5, dtype=torch.bfloat16)).square().mean()",
    ),
    "to the CPU": (f"{MLP}.to('cpu').float()", "model(torch.randn(batch, 5)).square().mean()"),
    "double": (f"{MLP}.double()", "model(torch.randn(batch, 5).double()).square().mean()"),
    "encoder": (
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)",
        "model(torch.randn(batch, 10, 16)).square().mean()",
    ),
}


@pytest.mark.parametrize(("model", "loss"), WORKING.values(), ids=WORKING)
def test_a_model_that_is_converted_or_copied_is_traced_as_it_runs(here, succeed, model, loss):
    write(here, model, loss)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        succeed("trace", "own.py:make_step", "-o", "t.json")
    succeed("capture", "own.py:make_step", "--iterations", 1, "-o", "c.json")
    trace, capture = load("t.json", Trace), load("c.json", Capture)
    assert capture.op_names == tuple(op.name for op in trace.ops)
    saved = [trace.storages[s] for s in trace.saved]
    assert [(t.dtype, t.bytes) for t in capture.iterations[0]] == [
        (s.dtype, s.bytes) for s in saved
    ]


@pytest.mark.parametrize("command", ["trace", "capture"])
def test_lazy_layers_are_refused_with_what_to_write_instead(here, refuse, command):
    write(here, "nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(2))")
    assert "nn.Linear in place of nn.LazyLinear" in refuse(command, "own.py:make_step")


@pytest.mark.skipif("__import__('torch').cuda.is_available()")
@pytest.mark.parametrize("command", ["trace", "capture"])
@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (f"{MLP}.cuda()", "model(torch.randn(batch, 5).cuda()).mean()"),
        (MLP, "model(torch.randn(batch, 5, device='cuda')).mean()"),
    ],
    ids=["model", "batch"],
)
def test_code_for_a_gpu_is_refused_with_what_to_do(here, refuse, model, loss, command):
    write(here, model, loss)
    line = refuse(command, "own.py:make_step")
    assert "CPU" in line
    assert "CUDA_VISIBLE_DEVICES=" in line


LOADER = (
    "data = iter(DataLoader(TensorDataset(torch.randn(64, 5)), batch, shuffle={shuffle}, "
    "num_workers={workers}))"
)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_is_captured_but_not_traced(here, refuse, succeed, shuffle, workers):
    """In one line: no complaint of a half-made loader follows."""
    before = LOADER.format(shuffle=shuffle, workers=workers)
    write(here, MLP, "model(next(data)[0]).square().mean()", before)
    line = refuse("trace", "own.py:make_step")
    assert "own.py, line 6: a DataLoader looks at the values of tensors" in line
    if not workers:
        succeed("capture", "own.py:make_step", "--iterations", 1)


THREAD = (
    "def elsewhere(run):\n"
    "        found = []\n"
    "        thread = threading.Thread(target=lambda: found.append(run()))\n"
    "        thread.start()\n"
    "        thread.join()\n"
    "        return found[0]"
)


@pytest.mark.parametrize("command", ["trace", "capture"])
@pytest.mark.parametrize(
    "loss",
    [
        "elsewhere(lambda: model(torch.randn(batch, 5)).mean())",
        "elsewhere(lambda: model(torch.randn(batch, 5))).exp().mean()",
    ],
    ids=["whole", "part"],
)
def test_a_forward_pass_in_another_thread_is_refused(here, refuse, command, loss):
    write(here, MLP, loss, THREAD)
    assert "in another thread" in refuse(command, "own.py:make_step")


def test_a_loss_from_elsewhere_without_a_recorded_operator_is_refused(here, refuse):
    write(here, MLP, "made_before", "made_before = model(torch.randn(batch, 5)).mean()")
    assert "beforehand" in refuse("trace", "own.py:make_step")


@pytest.mark.parametrize("command", ["trace", "capture"])
@pytest.mark.parametrize("where", ["make_step", "compute_loss"])
def test_what_is_asynchronous_is_refused_without_a_word_of_pythons(here, refuse, where, command):
    write(here, MLP)
    code = (here / "own.py").read_text()
    (here / "own.py").write_text(code.replace(f"def {where}", f"async def {where}"))
    assert "corouti" in refuse(command, "own.py:make_step")


def test_a_step_that_saves_nothing_is_not_captured(here, refuse):
    write(here, MLP, "model[0].weight.sum()")
    line = refuse("capture", "own.py:make_step", "-o", "c.json")
    assert "saves no activation" in line
    assert not (here / "c.json").exists()


@pytest.mark.parametrize("command", ["trace", "capture"])
def test_a_mistake_in_a_module_beside_the_file_is_named(here, refuse, command, monkeypatch):
    monkeypatch.syspath_prepend(here)
    monkeypatch.delitem(sys.modules, "beside_it", raising=False)
    (here / "beside_it.py").write_text(
        "import torch\nclass Bad(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        return x * 1\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return {}['x']\n"
    )
    write(here, MLP, "Bad.apply(model(torch.randn(batch, 5))).sum()", "from beside_it import Bad")
    assert "beside_it.py, line 8: KeyError" in refuse(command, "own.py:make_step")


def test_a_file_that_is_no_file_is_not_waited_for(here, refuse):
    os.mkfifo(here / "own.py")
    assert "no regular file" in refuse("trace", "own.py:make_step")

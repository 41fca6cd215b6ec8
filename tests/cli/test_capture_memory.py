"""Captures stream: what is compressed goes before the next tensor comes, whatever the model."""

import subprocess
import sys
from pathlib import Path

import pytest

from peak import PEAK, peak_bytes
from planezip.units import MIB

GROWTH = f"""
import torch
from planezip.cli.memory import return_freed_memory
from planezip.tracing import capture_steps
{PEAK}
return_freed_memory()
TENSORS, ELEMENTS = 32, 1 << 20
weight = torch.nn.Parameter(torch.rand(ELEMENTS))
model = torch.nn.ParameterList([weight])
optimizer = torch.optim.SGD([weight], lr=0.1, foreach=False)

def loss():
    x = weight
    for _ in range(TENSORS):
        x = x.sin()
    return x.mean()

loss().backward()
optimizer.step()

from planezip.codec import measure  # what it takes to be there is no matter of tensors
measure(torch.rand(ELEMENTS))
trained = peak_bytes()
capture = capture_steps(loss, model, optimizer, [()] * 2, name="sines", weights="", data="")
assert len(capture.iterations[1]) >= TENSORS - 1
print(peak_bytes() - trained)
"""


def test_a_capture_keeps_no_copies_of_what_it_compressed() -> None:
    """Beside what training needs: here 128 MiB of saved activations, two times."""
    if not Path("/proc/self/status").exists():
        pytest.skip("only Linux tells how much memory was in use")
    command = [sys.executable, "-c", GROWTH]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 48 * MIB


@pytest.mark.slow
@pytest.mark.parametrize("model", ["densenet121", "gpt2"])
def test_capturing_stays_under_6_gib(tmp_path: Path, model: str) -> None:
    """At the sizes of the committed captures."""
    peak = peak_bytes(tmp_path, "capture", model, "-o", "capture.json.gz")
    print(f"{model}: {peak / MIB:.0f} MiB")
    assert peak < 6 * 1024 * MIB


@pytest.mark.slow
def test_warming_up_gpt2_with_checkpoints_stays_under_6_gib(tmp_path: Path) -> None:
    """Written by one process, resumed by another."""
    for steps in (2, 3):
        options = ("--warmup-steps", steps, "--iterations", 1)
        peak = peak_bytes(tmp_path, "capture", "gpt2", *options, "-o", "capture.json.gz")
        print(f"gpt2 after {steps} steps: {peak / MIB:.0f} MiB")
        assert peak < 6 * 1024 * MIB
        assert len(list(tmp_path.glob("cache/planezip/warmup/gpt2-*.pt"))) == steps - 1

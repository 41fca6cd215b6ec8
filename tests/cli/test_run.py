"""`planezip run` and `planezip train-demo`: what a budget costs, from the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from planezip.cli.main import main

FILE = """
import torch
from torch import nn

def make_step(batch: int = 16):
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(),
                          nn.Dropout(0.2), nn.Linear(8 * 14 * 14, 4))
    def compute_loss():
        print("a user's print")
        x = torch.randn(batch, 3, 16, 16)
        return nn.functional.cross_entropy(model(x), torch.randint(4, (batch,)))
    return model, compute_loss
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "net.py"
    path.write_text(FILE)
    return f"{path}:make_step"


def test_a_users_model_trains_within_a_budget_to_the_same_bits(file: str) -> None:
    result = CliRunner().invoke(
        main, ["run", file, "--budget", "90%", "--steps", "5", "--compare", "--json"]
    )
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert all(told["equal"].values())
    assert told["session"]["losses"] == told["plain"]["losses"]
    assert told["session"]["peak_bytes"] <= told["report"]["budget_bytes"]
    assert told["report"]["budget_bytes"] <= 0.9 * told["plain"]["peak_bytes"]


def test_sparse_gradients_are_compared_as_well(tmp_path: Path) -> None:
    path = tmp_path / "sparse.py"
    path.write_text(
        "import torch\nfrom torch import nn\n"
        "def make_step():\n"
        "    model = nn.Sequential(nn.Embedding(50, 64, sparse=True), nn.Linear(64, 8))\n"
        "    return model, lambda: model(torch.arange(40)).sin().square().sum()\n"
    )
    result = CliRunner().invoke(
        main,
        ["run", f"{path}:make_step", "--budget", "1MiB", "--steps", "3", "--compare", "--json"],
    )
    assert result.exit_code == 0, result.output
    assert all(json.loads(result.stdout)["equal"].values())


def test_people_are_told_peak_time_and_bits(file: str) -> None:
    result = CliRunner().invoke(
        main, ["run", file, "--budget", "1GiB", "--steps", "5", "--compare"]
    )
    assert result.exit_code == 0, result.output
    assert "within the budget" in result.stdout
    assert "the same bits" in result.stdout
    assert "DIFFERENT" not in result.stdout


def test_the_timeline_shows_what_was_measured_beside_what_was_predicted(
    file: str, tmp_path: Path
) -> None:
    path = tmp_path / "timeline.json"
    result = CliRunner().invoke(
        main, ["run", file, "--budget", "90%", "--steps", "5", "--perfetto", str(path)]
    )
    assert result.exit_code == 0, result.output
    rows = json.loads(path.read_text())["traceEvents"]
    slices = [{r["name"] for r in rows if r["ph"] == "X" and r["pid"] == pid} for pid in (1, 2)]
    assert "aten.convolution.default" in slices[0]
    assert slices[0] & slices[1]
    names = [r["args"]["name"] for r in rows if r["name"] == "process_name"]
    assert [name.split(":")[0] for name in names] == ["measured", "predicted"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--budget", "1KiB"], "the smallest budget that a plan was found for is"),
        (["--budget", "some"], "'some' is not a size"),
        (["--budget", "0%"], "'0%' is no share"),
        (["--budget", "x%"], "'x%' is no share"),
        (["--budget", "1GiB", "--host-pool", "x"], "'x' is not a size"),
        (["--budget", "1GiB", "--spill", "no/such"], "'no/such' is no folder"),
        (["--budget", "1GiB", "--perfetto", "no/such/file"], "there is no folder no/such"),
        (["--budget", "1GiB", "--images", "x"], "brings its own data along"),
    ],
)
def test_bad_input_is_one_line(file: str, arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(main, ["run", file, *arguments])
    assert result.exit_code != 0
    assert told in result.stderr
    assert "Traceback" not in result.stderr


def test_an_unknown_model_is_named() -> None:
    result = CliRunner().invoke(main, ["run", "resnet51", "--budget", "50%"])
    assert result.exit_code != 0
    assert "unknown model 'resnet51'" in result.stderr

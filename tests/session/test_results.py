"""The committed measurements of training within budgets say what the docs say of them."""

import csv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "amd-epyc-2-cores" / "training.csv"
ROWS = list(csv.DictReader(RESULTS.read_text().splitlines()))
MODELS = sorted({row["model"] for row in ROWS})


def _row(model: str, method: str) -> dict[str, str]:
    (found,) = (row for row in ROWS if (row["model"], row["method"]) == (model, method))
    return found


def test_every_loss_has_the_bits_of_plain_training() -> None:
    assert MODELS == ["gpt2", "resnet50", "vit_base_patch16_224"]
    assert {row["same_losses"] for row in ROWS} == {"True"}


def test_predicted_times_are_within_15_percent_of_measured_ones() -> None:
    ratios = [float(row["predicted_ratio"]) for row in ROWS if row["predicted_ratio"]]
    assert len(ratios) == 16
    assert all(0.85 <= ratio <= 1.15 for ratio in ratios)


@pytest.mark.parametrize("model", MODELS)
def test_no_budget_is_exceeded(model: str) -> None:
    for method in ("100%", "70%", "50%", "30%"):
        row = _row(model, method)
        assert float(row["peak_ratio"]) <= float(method[:-1]) / 100 + 1e-4
    same = _row(model, "at checkpoint's peak")
    assert int(same["peak_bytes"]) <= int(_row(model, "checkpoint")["peak_bytes"])


@pytest.mark.parametrize("model", MODELS)
def test_half_of_memory_costs_at_most_half_of_what_checkpointing_costs(model: str) -> None:
    cost = float(_row(model, "50%")["step_ratio"]) - 1
    assert cost <= (float(_row(model, "checkpoint")["step_ratio"]) - 1) / 2


def test_copies_alone_bring_a_relu_network_to_65_percent() -> None:
    assert float(_row("resnet50", "65% copies")["peak_ratio"]) <= 0.65


def test_the_docs_quote_the_measurements() -> None:
    text = (ROOT / "docs" / "training.md").read_text()
    for model in MODELS:
        cells = (
            f"{float(_row(model, method)[column]):.2f}"
            for method in ("checkpoint", "50%", "at checkpoint's peak", "30%")
            for column in ("step_ratio", "peak_ratio")
        )
        pairs = list(cells)
        line = " | ".join(f"{a}, {b}" for a, b in zip(pairs[::2], pairs[1::2], strict=True))
        assert f"| {model} | {line} |" in text

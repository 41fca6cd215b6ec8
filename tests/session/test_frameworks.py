"""The frameworks' trainings leave the same bits with the callback as without."""

import warnings
from pathlib import Path

import pytest
import torch
from torch import nn

from execution.training import same_bits

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    lightning = pytest.importorskip("lightning")
    pytest.importorskip("accelerate")

pytestmark = pytest.mark.filterwarnings("ignore")


def _weights(model: nn.Module) -> list[torch.Tensor]:
    return [p.detach().clone() for p in model.parameters()]


def _huggingface(folder: Path, callbacks: list[object]) -> list[torch.Tensor]:
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=40, n_positions=32, n_embd=32, n_layer=2, n_head=2, attn_implementation="eager"
    )
    model = GPT2LMHeadModel(config)
    ids = torch.randint(0, 40, (16, 32))
    rows = [{"input_ids": row, "labels": row} for row in ids]
    arguments = TrainingArguments(
        output_dir=str(folder), max_steps=4, per_device_train_batch_size=4, report_to=[],
        save_strategy="no", use_cpu=True, disable_tqdm=True, logging_strategy="no",
    )  # fmt: skip
    Trainer(model, arguments, train_dataset=rows, callbacks=callbacks).train()
    return _weights(model)


def test_hugging_faces_trainer(tmp_path: Path) -> None:
    from planezip.session.huggingface import PlaneZipCallback

    callback = PlaneZipCallback(budget_ratio=0.8, min_bytes=1024)
    assert callback.report() is None
    plain = _huggingface(tmp_path, [])
    assert same_bits(_huggingface(tmp_path, [callback]), plain)
    report = callback.report()
    assert report is not None
    assert report.passes["planned"] >= 2
    assert report.measured_peak_bytes is not None
    assert report.budget_bytes is not None
    assert report.measured_peak_bytes <= report.budget_bytes


class _Module(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(), nn.Linear(64, 8))

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        return self.net(batch[0]).square().mean()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), 0.01)


def _lightning(folder: Path, callbacks: list[object]) -> list[torch.Tensor]:
    torch.manual_seed(0)
    module = _Module()
    data = torch.utils.data.TensorDataset(torch.randn(128, 32))
    loader = torch.utils.data.DataLoader(data, batch_size=16)
    trainer = lightning.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
        callbacks=callbacks,
    )  # fmt: skip
    trainer.fit(module, loader)
    return _weights(module)


def test_lightning(tmp_path: Path) -> None:
    from planezip.session.lightning import PlaneZipCallback

    callback = PlaneZipCallback(budget_ratio=0.9, min_bytes=256)
    plain = _lightning(tmp_path, [])
    assert same_bits(_lightning(tmp_path, [callback]), plain)
    report = callback.report()
    assert report is not None
    assert report.passes["planned"] >= 2

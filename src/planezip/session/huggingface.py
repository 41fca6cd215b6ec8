"""Hugging Face's Trainer within a budget: `Trainer(..., callbacks=[PlaneZipCallback("2GiB")])`."""

from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from planezip.session.report import SessionReport
from planezip.session.session import Session


class PlaneZipCallback(TrainerCallback):  # type: ignore[misc]
    """Trains the Trainer's model in a session; takes what `Session` takes after the model.

    The session is around the model's own forward pass, which computes the loss in Hugging Face's
    models; what a Trainer computes from its outputs is left alone.
    """

    def __init__(self, budget: int | str | None = None, **options: Any) -> None:
        self._budget, self._options = budget, options
        self._session: Session | None = None

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: torch.nn.Module | None = None,
        **_: Any,
    ) -> None:
        """Make the session and attach it."""
        assert model is not None
        self._session = Session(model, self._budget, **self._options)
        self._session.attach()

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Detach the session; its report stays."""
        if self._session is not None:
            self._session.close()

    def report(self) -> SessionReport | None:
        """What happened so far, None before the training."""
        return None if self._session is None else self._session.report()

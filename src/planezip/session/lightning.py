"""Lightning within a budget: `Trainer(..., callbacks=[PlaneZipCallback("2GiB")])`."""

from typing import Any

import lightning

from planezip.session.report import SessionReport
from planezip.session.session import Session


class PlaneZipCallback(lightning.Callback):
    """Trains a LightningModule in a session; takes what `Session` takes after the model.

    The session is around `training_step`: it begins with the batch and ends before backward.
    """

    def __init__(self, budget: int | str | None = None, **options: Any) -> None:
        self._budget, self._options = budget, options
        self._session: Session | None = None
        self._inside = False

    def on_fit_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Make the session."""
        self._session = Session(pl_module, self._budget, **self._options)

    def on_train_batch_start(self, *_: Any) -> None:
        """The forward pass begins."""
        if self._session is not None:
            self._session.__enter__()
            self._inside = True

    def on_before_backward(self, *_: Any) -> None:
        """The forward pass is over."""
        self._leave()

    def on_train_batch_end(self, *_: Any) -> None:
        """The step is over; it has had no backward pass if the session is still open."""
        self._leave()

    def on_exception(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        exception: BaseException,
    ) -> None:
        """The step failed."""
        self._leave(exception)

    def on_fit_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Close the session; its report stays."""
        if self._session is not None:
            self._session.close()

    def report(self) -> SessionReport | None:
        """What happened so far, None before the training."""
        return None if self._session is None else self._session.report()

    def _leave(self, error: BaseException | None = None) -> None:
        if self._inside and self._session is not None:
            self._inside = False
            self._session.__exit__(type(error) if error else None, error, None)

"""How far a training has come, in a file that is either whole and fitting or refused."""

import math
from dataclasses import dataclass
from typing import Any, BinaryIO, Self, cast

import torch
import xxhash

from planezip.workloads.states import is_optimizer_state_of, is_state_of

_CHECKSUM_BYTES = 16
_PIECE_BYTES = 1 << 24


@dataclass(frozen=True)
class Progress:
    """Training after a number of steps.

    Attributes:
        losses: of every step so far.
        model, optimizer: their state dictionaries.
    """

    losses: tuple[float, ...]
    model: dict[str, Any]
    optimizer: dict[str, Any]

    def write(self, file: BinaryIO) -> None:
        """The 16-byte XXH3-128 checksum of what torch.save writes, then that, tensor by tensor.

        Args:
            file: empty, and able to go back to its beginning.
        """
        file.write(bytes(_CHECKSUM_BYTES))
        sink = _Sink(file)
        parts = {"model": self.model, "optimizer": self.optimizer}
        try:
            torch.save({"losses": list(self.losses), **parts}, cast(BinaryIO, sink))
        except RuntimeError:
            # What torch makes of a disk that is full, or of Ctrl-C.
            if sink.failure is None:
                raise
            raise sink.failure from None
        file.seek(0)
        file.write(sink.checksum.digest())

    @classmethod
    def read(cls, file: BinaryIO) -> Self | None:
        """What `write` wrote; None unless every bit of it is there."""
        checksum = xxhash.xxh3_128()
        expected = file.read(_CHECKSUM_BYTES)
        while piece := file.read(_PIECE_BYTES):
            checksum.update(piece)
        # Checked first: torch does not notice every flipped bit.
        if checksum.digest() != expected:
            return None
        file.seek(_CHECKSUM_BYTES)
        try:
            held = torch.load(file, weights_only=True)
            if not isinstance(held, dict) or held.keys() != {"losses", "model", "optimizer"}:
                return None
            return cls(tuple(held["losses"]), held["model"], held["optimizer"])
        except Exception:  # a forged file may fail in any way that pickles can
            return None

    def restore(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> bool:
        """Put both where they were; False, and both untouched, if this is not progress of them."""
        try:
            if not (_are_losses(self.losses) and is_state_of(model, self.model)):
                return False
            if not is_optimizer_state_of(optimizer, self.optimizer, len(self.losses)):
                return False
            # First, since it is the one of the two that could still refuse.
            optimizer.load_state_dict(self.optimizer)
        except Exception:
            return False
        model.load_state_dict(self.model)
        return True


class _Sink:
    """A file for torch.save that sums up what passes and remembers why it could not be written."""

    def __init__(self, file: BinaryIO) -> None:
        self.checksum = xxhash.xxh3_128()
        self.failure: BaseException | None = None
        self._file = file

    def write(self, data: bytes) -> int:
        try:
            self.checksum.update(data)
            return self._file.write(data)
        except BaseException as error:
            self.failure = error
            raise

    def flush(self) -> None:
        self._file.flush()


def _are_losses(losses: tuple[Any, ...]) -> bool:
    return all(isinstance(loss, float) and math.isfinite(loss) for loss in losses)

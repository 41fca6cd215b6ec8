"""How far a training has come, in a file that is either whole and fitting or refused."""

import math
from dataclasses import dataclass
from typing import Any, BinaryIO, Self, cast

import torch
import xxhash

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
            return cls(tuple(held["losses"]), held["model"], held["optimizer"])
        except Exception:  # a forged file may fail in any way that pickles can
            return None

    def restore(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> bool:
        """Put both where they were; False, and both untouched, if this is not progress of them."""
        if not (_are_losses(self.losses) and _is_state_of(model, self.model)):
            return False
        try:
            if not _is_optimizer_state_of(optimizer, self.optimizer):
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


def _is_state_of(model: torch.nn.Module, held: Any) -> bool:
    expected = model.state_dict()
    return (
        isinstance(held, dict)
        and held.keys() == expected.keys()
        and all(_is_like(held[name], value) for name, value in expected.items())
    )


def _is_like(held: Any, expected: Any) -> bool:
    if not isinstance(expected, torch.Tensor):
        return type(held) is type(expected)
    return (
        isinstance(held, torch.Tensor)
        and (held.shape, held.dtype, held.layout)
        == (expected.shape, expected.dtype, expected.layout)
        and held.device == expected.device
    )


def _is_optimizer_state_of(optimizer: torch.optim.Optimizer, held: Any) -> bool:
    """Whether the settings are the optimizer's own and its tensors fit the parameters."""
    if not isinstance(held, dict) or held.keys() != {"state", "param_groups"}:
        return False
    groups = optimizer.state_dict()["param_groups"]
    if held["param_groups"] != groups or not isinstance(held["state"], dict):
        return False
    indices = (i for group in groups for i in group["params"])
    parameters = (p for group in optimizer.param_groups for p in group["params"])
    by_index = dict(zip(indices, parameters, strict=True))
    return all(
        index in by_index and isinstance(values, dict) and _fit(values, by_index[index])
        for index, values in held["state"].items()
    )


def _fit(values: dict[Any, Any], parameter: torch.Tensor) -> bool:
    tensors = (v for v in values.values() if isinstance(v, torch.Tensor))
    return all(t.shape in (parameter.shape, torch.Size()) for t in tensors)

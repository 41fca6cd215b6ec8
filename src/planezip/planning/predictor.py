"""The last-iteration predictor of compressed sizes (paper III-B, Table IV)."""

from collections.abc import Iterable, Mapping
from typing import Literal

from planezip.records import Precision, TensorCapture

Signature = Literal["tensor", "optype", "global"]
Key = tuple[int | str, int] | str


def signature_key(tensor: TensorCapture, signature: Signature) -> Key:
    """What identifies a saved activation across iterations.

    "tensor": position of its producing operator and output slot. "optype": the operator's name in
    place of its position, one entry for every layer; the slot stays, since a dropout's output and
    its mask, which have nothing in common, would share an entry without it. "global": one entry for
    all.
    """
    if signature == "global":
        return ""
    return (tensor.op if signature == "tensor" else tensor.op_name, tensor.slot)


class RatioTable:
    """One compression ratio per signature, overwritten by every measurement.

    Signatures that cover several tensors hold the ratio of their bytes together.
    """

    def __init__(self, signature: Signature = "tensor") -> None:
        self._signature = signature
        self._ratios: dict[Key, float] = {}

    def update(self, iteration: Iterable[TensorCapture], precision: Precision, codec: str) -> None:
        """Record the sizes that one iteration measured."""
        raw: dict[Key, float] = {}
        wire: dict[Key, float] = {}
        for tensor in iteration:
            key = signature_key(tensor, self._signature)
            raw[key] = raw.get(key, 0.0) + tensor.bytes_at(precision)
            wire[key] = wire.get(key, 0.0) + tensor.wire_bytes(precision, codec)
        self._ratios |= {key: raw[key] / wire[key] if wire[key] else 1.0 for key in raw}

    def predict(self, tensor: TensorCapture) -> float:
        """Predicted ratio; one until its signature has a measurement."""
        return self._ratios.get(signature_key(tensor, self._signature), 1.0)

    def predict_all(self, matches: Mapping[int, TensorCapture | None]) -> dict[int, float]:
        """Ratio of every saved storage; one for those without a counterpart in the capture."""
        return {s: self.predict(tensor) if tensor else 1.0 for s, tensor in matches.items()}


def wire_size_error(
    iterations: Iterable[Iterable[TensorCapture]],
    precision: Precision,
    codec: str,
    signature: Signature = "tensor",
) -> float:
    """Absolute errors over total wire bytes, each iteration predicted from the one before.

    Tensors without a prediction (the first iteration) are not counted; 0.0 if none is left.
    """
    table = RatioTable(signature)
    error_bytes = wire_bytes = 0.0
    for number, iteration in enumerate(iterations):
        tensors = list(iteration)
        if number:
            for tensor in tensors:
                actual = tensor.wire_bytes(precision, codec)
                predicted = tensor.bytes_at(precision) / table.predict(tensor)
                error_bytes += abs(predicted - actual)
                wire_bytes += actual
        table.update(tensors, precision, codec)
    return error_bytes / wire_bytes if wire_bytes else 0.0

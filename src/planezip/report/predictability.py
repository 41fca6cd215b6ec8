"""How stable compressibility is from one iteration to the next (paper V-B, Table IV)."""

from dataclasses import dataclass

from planezip.planning import wire_size_error
from planezip.planning.predictor import Signature
from planezip.records import Capture, Precision
from planezip.report.ratios import PRECISIONS, ratio_of

CODEC = "planezip"
SIGNATURES: tuple[Signature, ...] = ("tensor", "optype", "global")


@dataclass(frozen=True, slots=True)
class Stability:
    """One row of Table IV.

    Attributes:
        iteration: 1 for the first captured one.
        loss: its training loss.
        ratio: ratio of all its saved activations.
        tensor_error_pct, optype_error_pct, global_error_pct: wire-size error of the prediction
            from the iteration before, by signature; None for the first.
    """

    model: str
    precision: Precision
    iteration: int
    loss: float
    ratio: float
    tensor_error_pct: float | None
    optype_error_pct: float | None
    global_error_pct: float | None


def stability(capture: Capture) -> list[Stability]:
    """A row for every captured iteration at both precisions."""
    return [
        _row(capture, precision, i)
        for precision in PRECISIONS
        for i in range(len(capture.iterations))
    ]


def error_pct(capture: Capture, precision: Precision, signature: Signature) -> float:
    """Wire-size error over all captured iterations, in percent."""
    return 100 * wire_size_error(capture.iterations, precision, CODEC, signature)


def _row(capture: Capture, precision: Precision, index: int) -> Stability:
    pair = capture.iterations[index - 1 : index + 1] if index else ()
    errors = (
        100 * wire_size_error(pair, precision, CODEC, signature) if pair else None
        for signature in SIGNATURES
    )
    ratio = ratio_of(capture.iterations[index], precision, CODEC)
    return Stability(capture.model, precision, index + 1, capture.losses[index], ratio, *errors)

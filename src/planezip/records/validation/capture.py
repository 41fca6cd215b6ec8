"""A capture that could have been measured: every tensor has its sizes under every codec."""

from typing import get_args

from planezip.errors import InputError
from planezip.records.capture import CODECS, Capture, TensorCapture, WireSizes
from planezip.records.trace import Precision
from planezip.records.validation.numbers import (
    check_count,
    check_operator,
    check_ratio,
    is_count,
)
from planezip.units import counted

_PRECISIONS: tuple[str, ...] = get_args(Precision)


def validate_capture(capture: Capture) -> None:
    """InputError names the first iteration and tensor that cannot be."""
    check_count(capture.batch, "the batch", at_least=1)
    if not capture.iterations:
        raise InputError("it holds no iteration")
    if len(capture.losses) != len(capture.iterations):
        raise InputError(
            f"it holds losses of {counted(len(capture.losses), 'iteration')}, "
            f"tensors of {len(capture.iterations)}"
        )
    for i, tensors in enumerate(capture.iterations):
        if not tensors:
            raise InputError(f"iteration {i} holds no saved activation")
        for j, tensor in enumerate(tensors):
            _check_tensor(tensor, f"tensor {j} of iteration {i}")
    for index, name in enumerate(capture.op_names):
        check_operator(name, f"operator {index}")
    # Later iterations may run other operators; a note says so.
    if max(t.op for t in capture.iterations[0]) >= len(capture.op_names):
        raise InputError("iteration 0 holds a tensor of an operator that there isn't")


def _check_tensor(t: TensorCapture, what: str) -> None:
    if t.op < -1 or not all(map(is_count, (t.slot, t.bytes))) or t.chunk_stride < 1:
        raise InputError(
            f"{what} has operator {t.op}, slot {t.slot}, {t.bytes} bytes, stride {t.chunk_stride}"
        )
    if t.op_name != "input":
        check_operator(t.op_name, f"the operator of {what}")
    for precision in _PRECISIONS:
        sizes = t.sizes.get(precision)  # type: ignore[call-overload]
        if sizes is None:
            raise InputError(f"{what} has no sizes at {precision}")
        _check_sizes(sizes, t.bytes, f"{what} at {precision}")


def _check_sizes(sizes: WireSizes, tensor_bytes: int, what: str) -> None:
    raw = sizes.raw_bytes
    if not 0 <= raw <= tensor_bytes or bool(raw) != bool(tensor_bytes):
        raise InputError(f"{what} has {raw} bytes measured of {tensor_bytes}")
    for codec in CODECS:
        if codec not in sizes.wire_bytes:
            raise InputError(f"{what} has no size under {codec}")
    if not all(map(is_count, sizes.encoder_blocks.values())):
        raise InputError(f"{what} has a negative number of blocks")
    for codec, wire in (*sizes.wire_bytes.items(), ("planezip", sizes.symbol32_wire_bytes)):
        if not is_count(wire) or (raw and not wire):
            raise InputError(f"{what} has {wire} bytes under {codec}")
        if raw:
            check_ratio(raw / wire, f"the ratio of {what} under {codec}")

"""Runs real training iterations and compresses every saved activation (paper IV)."""

import math
from collections.abc import Callable, Iterable, Sequence

import torch

from planezip.errors import InputError
from planezip.records import Capture, Precision, TensorCapture, Trace, WireSizes
from planezip.records.machine import this_machine
from planezip.tracing.arguments import check_batch, check_contents, check_training
from planezip.tracing.contents import (
    Codec,
    PlaneZipCodec,
    check_decoding,
    chunk_stride,
    whole_storage,
    wire_sizes,
)
from planezip.tracing.step import library_versions, trace_step

_CHECK_EVERY = 8

OnTensor = Callable[[int, int], None]
"""Called after every tensor with the index of the iteration and the tensors done in it."""


def capture_steps(
    compute_loss: Callable[..., torch.Tensor],
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Iterable[Sequence[torch.Tensor]],
    *,
    name: str,
    weights: str,
    data: str,
    notes: Sequence[str] = (),
    batch_size: int | None = None,
    seed: int = 0,
    codec: Codec | None = None,
    on_tensor: OnTensor | None = None,
) -> Capture:
    """Train one step on every batch and size the saved activations under every codec.

    A saved activation is compressed when a backward operator is about to read it for the first
    time; only its sizes are kept, so that the memory needed beyond that of training is one BF16
    copy of the largest tensor. FP32 tensors are compressed as they are and as BF16, unless the
    model computes in mixed precision itself; then every tensor is compressed as it is. In every
    iteration one tensor in eight is also decompressed in part and compared.

    Args:
        compute_loss, model, optimizer: as for `trace_step`, on the CPU.
        batches: one for every iteration.
        name, weights, data, notes: what the capture says of itself.
        batch_size: items in a batch; by default the first dimension of its first tensor.
        seed: of the random operators in the model.
        codec: the compressor; by default this package's.
        on_tensor: told of every tensor.

    Raises:
        InputError: as for `trace_step`; a tensor is not on the CPU; a loss is infinite or not a
            number; an iteration saves no activation; or there is no batch.
        RuntimeError: a codec did not restore what it compressed.
    """
    check_training(model, optimizer)
    check_contents((*model.parameters(), *model.buffers()))
    codec = codec or PlaneZipCodec()
    iterations: list[tuple[TensorCapture, ...]] = []
    losses: list[float] = []
    traces: list[Trace] = []
    size = 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for index, batch in enumerate(batches):
            check_batch(batch)
            check_contents(batch)
            meter = _Meter(codec, index, on_tensor)
            step = trace_step(
                compute_loss,
                model,
                optimizer,
                batch,
                name=name,
                batch_size=batch_size,
                observer=meter,
            )
            losses.append(_finite(float(step.loss), index))
            iterations.append(_saved(_tensor_captures(step.trace, meter.sizes), index))
            traces.append(step.trace)
            size = step.trace.batch
    if not traces:
        raise InputError("a capture needs at least one batch")
    op_names = [tuple(op.name for op in trace.ops) for trace in traces]
    return Capture(
        model=name,
        batch=size,
        weights=weights,
        data=data,
        iterations=tuple(iterations),
        losses=tuple(losses),
        op_names=op_names[0],
        versions=library_versions(),
        notes=(*notes, *_differences(op_names)),
        machine=this_machine(),
    )


class _Meter:
    """Observer that sizes what it is shown and keeps nothing else."""

    def __init__(self, codec: Codec, iteration: int, on_tensor: OnTensor | None) -> None:
        self.sizes: dict[int, dict[Precision, WireSizes]] = {}
        self._codec, self._iteration, self._on_tensor = codec, iteration, on_tensor

    def __call__(self, storage: int, tensor: torch.Tensor, mixed_precision: bool) -> None:
        flat = whole_storage(tensor)
        self.sizes[storage] = wire_sizes(flat, self._codec, mixed_precision)
        if (len(self.sizes) + self._iteration) % _CHECK_EVERY == 0:
            check_decoding(flat, self._codec)
            if flat.dtype == torch.float32 and not mixed_precision:
                check_decoding(flat.to(torch.bfloat16), self._codec)
        if self._on_tensor:
            self._on_tensor(self._iteration, len(self.sizes))


def _tensor_captures(
    trace: Trace, sizes: dict[int, dict[Precision, WireSizes]]
) -> tuple[TensorCapture, ...]:
    """Captures of the saved activations by production; what only views looked at is left out."""
    # In-place operators overwrite: what is saved is the output of the last one.
    writer = {s: op.name for op in trace.ops[: trace.forward_end] for s in op.writes}
    saved = (trace.storages[s] for s in trace.saved)
    return tuple(
        TensorCapture(
            op=s.producer,
            op_name=writer.get(s.id, "input"),
            slot=s.slot,
            dtype=s.dtype,
            bytes=s.bytes,
            chunk_stride=chunk_stride(s.bytes),
            sizes=sizes[s.id],
            final=s.final,
        )
        for s in saved
    )


def _finite(loss: float, iteration: int) -> float:
    if not math.isfinite(loss):
        raise InputError(
            f"the loss of captured iteration {iteration} is {loss}, which nothing can be learned "
            "from; start from other weights or data, or with a loss that is scaled down"
        )
    return loss


def _saved(tensors: tuple[TensorCapture, ...], iteration: int) -> tuple[TensorCapture, ...]:
    if not tensors:
        raise InputError(
            f"captured iteration {iteration} saves no activation for its backward pass, so there "
            "is nothing to compress; capture a model that does"
        )
    return tensors


def _differences(op_names: Sequence[tuple[str, ...]]) -> Iterable[str]:
    for index, names in enumerate(op_names):
        if names != op_names[0]:
            yield f"the operators of iteration {index} are not those of iteration 0"

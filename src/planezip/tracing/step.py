"""Traces one training iteration of any model (paper IV)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version

import torch

from planezip.records import Op, Trace
from planezip.records.trace import BUDGETED_KINDS
from planezip.tracing.arguments import check_batch, check_loss, check_recorded, check_training
from planezip.tracing.dropout import fused_dropout
from planezip.tracing.operands import tensors_in
from planezip.tracing.recorder import Observer, Recorder


@dataclass(frozen=True)
class TracedStep:
    """A traced iteration and the loss that it computed (a meta tensor has no value)."""

    trace: Trace
    loss: torch.Tensor


def trace_step(
    compute_loss: Callable[..., torch.Tensor],
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: Sequence[torch.Tensor] = (),
    *,
    name: str = "",
    batch_size: int | None = None,
    observer: Observer | None = None,
) -> TracedStep:
    """Run forward, backward and optimizer step once and record them.

    Works on the meta device, on FakeTensors and on real tensors; real parameters, buffers and
    optimizer state are updated as in any iteration. Gradients are set to None beforehand. Dropout
    runs as the kernel that saves a mask of one byte an element (see `FusedDropout`), also where
    activation checkpointing computes again. An iteration in mixed precision is recorded with the
    element types that it has, which are then final.

    Args:
        compute_loss: computes the scalar loss of `model` when called with the members of `batch`.
        model: its parameters and buffers are told apart from activations by it.
        optimizer: makes the step; the parameters that it trains, those outside `model` included,
            and its state lie outside the activation memory.
        batch: inputs and targets, in the order of `compute_loss`. Tensors that `compute_loss`
            takes from elsewhere are recognised as inputs when the forward pass first uses them,
            those that only backward uses lie outside the activation memory like buffers.
        name: what Trace.model says.
        batch_size: items in the batch; by default the first dimension of batch[0].
        observer: see `Recorder`.

    Returns:
        The trace, and the loss.

    Raises:
        InputError: a tensor without a storage of its own (sparse, nested) takes part; the batch
            holds something else than tensors; the loss is not a scalar tensor with a gradient; the
            forward pass, or a part of it, runs in another thread; or the optimizer needs a closure.
    """
    check_training(model, optimizer)
    check_batch(batch)
    recorder = Recorder(observer)
    optimizer.zero_grad(set_to_none=True)
    _enter_residents(recorder, model, optimizer, batch)
    with fused_dropout(), recorder, recorder.hooks.context():
        loss = compute_loss(*batch)
        check_loss(loss)
        check_recorded(loss, computed_here=recorder.table.find(loss) is not None)
        recorder.start_backward()
        loss.backward()  # type: ignore[no-untyped-call]
        recorder.start_optimizer()
        optimizer.step()
    _name_gradients_and_state(recorder, model, optimizer)
    if batch_size is None:
        batch_size = batch[0].shape[0] if len(batch) and batch[0].dim() else 1
    return TracedStep(
        _trace(recorder, _parameters(model, optimizer), name, batch_size), loss.detach()
    )


def _enter_residents(
    recorder: Recorder,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: Sequence[torch.Tensor],
) -> None:
    """Enter what exists before the first operator."""
    table = recorder.table
    for parameter in _parameters(model, optimizer):
        table.add(parameter, "parameter")
    for buffer in model.buffers():
        table.add(buffer, "buffer")
    for state in _state_tensors(optimizer):
        table.add(state, "optimizer_state")
    for tensor in batch:
        table.add_input(tensor)


def _name_gradients_and_state(
    recorder: Recorder, model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> None:
    """Say which storages turned out to hold gradients of parameters and optimizer state."""
    for parameter in (*_parameters(model, optimizer), *recorder.strays):
        if parameter.grad is not None:
            recorder.table.set_kind(parameter.grad, "parameter_gradient")
    for state in _state_tensors(optimizer):
        recorder.table.set_kind(state, "optimizer_state")


def _parameters(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[torch.Tensor, ...]:
    """Parameters of the model, then those that only the optimizer knows, each once."""
    trained = [p for group in optimizer.param_groups for p in group["params"]]
    return tuple({id(p): p for p in (*model.parameters(), *trained)}.values())


def _state_tensors(optimizer: torch.optim.Optimizer) -> Iterator[torch.Tensor]:
    for state in optimizer.state.values():
        yield from tensors_in(list(state.values()))


def _trace(
    recorder: Recorder, parameters: Sequence[torch.Tensor], name: str, batch_size: int
) -> Trace:
    storages = recorder.table.records(final=recorder.mixed_precision)
    trace = Trace(
        model=name,
        batch=batch_size,
        parameters=sum(p.numel() for p in parameters if p.requires_grad),
        ops=tuple(map(_finally, recorder.ops) if recorder.mixed_precision else recorder.ops),
        storages=storages,
        versions=library_versions(),
    )
    # Backward may save for itself, as checkpointing does: what it produces does not count.
    forward = (
        s
        for s in map(storages.__getitem__, recorder.hooks.saved())
        if s.kind in BUDGETED_KINDS and s.producer < trace.forward_end
    )
    return replace(trace, saved_by_hooks=tuple(s.id for s in forward))


def _finally(op: Op) -> Op:
    """The operator of a pass in mixed precision: none of its traffic halves in BF16."""
    return replace(op, fp32_bytes=0, other_bytes=op.fp32_bytes + op.other_bytes)


_LIBRARIES = (
    "planezip",
    "numpy",
    "pillow",
    "timm",
    "tokenizers",
    "torch",
    "torchvision",
    "transformers",
)


def library_versions() -> dict[str, str]:
    """Versions of the libraries that decide what a trace or capture looks like."""
    installed = {}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed

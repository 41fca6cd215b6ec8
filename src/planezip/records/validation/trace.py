"""A trace that could have been recorded: ids, phases, sizes, and who writes before whom."""

from planezip.errors import InputError
from planezip.records.costs import peak_activation_bytes
from planezip.records.trace import Op, Storage, Trace
from planezip.records.validation.numbers import (
    check_count,
    check_operator,
    check_seconds,
    is_count,
)

_PHASES = {"forward": 0, "backward": 1, "optimizer": 2}


def validate_trace(trace: Trace) -> None:
    """InputError names the first operator or storage that cannot be."""
    check_count(trace.batch, "the batch", at_least=1)
    check_count(trace.parameters, "the number of parameters")
    for index, storage in enumerate(trace.storages):
        _check_storage(trace, index, storage)
    check_count(sum(s.bytes for s in trace.storages), "the size of all storages together")
    _check_order(trace)
    hooked = trace.saved_by_hooks
    if not all(0 <= s < len(trace.storages) for s in hooked) or sorted(set(hooked)) != list(hooked):
        raise InputError("saved_by_hooks does not hold ids of storages, ascending")
    if not any(op.writes for op in trace.ops):
        raise InputError("no operator writes anything")
    if all(op.measured_s == 0.0 for op in trace.ops if not op.is_view):
        raise InputError("no operator takes any time")
    if not peak_activation_bytes(trace, "bf16"):
        raise InputError("no operator uses any activation memory")


def _check_storage(trace: Trace, index: int, s: Storage) -> None:
    if s.id != index:
        raise InputError(f"storages are not numbered from 0: storage {index} has the id {s.id}")
    if not (is_count(s.bytes) and is_count(s.slot)):
        raise InputError(f"storage {index} has {s.bytes} bytes and slot {s.slot}")
    if not -1 <= s.producer < len(trace.ops):
        raise InputError(f"storage {index} is produced by operator {s.producer}, which there isn't")
    if (s.kind == "activation" and s.producer < 0) or (s.kind == "input" and s.producer >= 0):
        raise InputError(f"storage {index} is an {s.kind} produced by operator {s.producer}")


def _check_order(trace: Trace) -> None:
    """In execution order, nothing is read before it is there."""
    there = {s.id for s in trace.storages if s.producer < 0}
    ids = range(len(trace.storages))
    phase = 0
    for index, op in enumerate(trace.ops):
        _check_op(index, op, ids)
        if _PHASES[op.phase] < phase:
            raise InputError(f"operator {index} is of the {op.phase} pass, which was over")
        phase = _PHASES[op.phase]
        for s in op.reads:
            if s not in there:
                raise InputError(f"operator {index} reads storage {s} before it is written")
        for s in op.writes:
            if s not in there and trace.storages[s].producer != index:
                raise InputError(
                    f"operator {index} writes storage {s} first, "
                    f"but its producer is said to be {trace.storages[s].producer}"
                )
            there.add(s)
    for storage in trace.storages:
        if storage.id not in there:
            raise InputError(f"storage {storage.id} is never written, not even by its producer")


def _check_op(index: int, op: Op, ids: range) -> None:
    if op.index != index:
        raise InputError(f"operators are not numbered from 0: operator {index} says {op.index}")
    check_operator(op.name, f"operator {index}")
    for numbers in (op.reads, op.writes):
        if not all(s in ids for s in numbers):
            raise InputError(f"operator {index} uses a storage that there isn't")
        if len(set(numbers)) != len(numbers):
            raise InputError(f"operator {index} names a storage twice")
    if not (is_count(op.flops) and is_count(op.fp32_bytes) and is_count(op.other_bytes)):
        raise InputError(
            f"operator {index} has {op.flops} flops, {op.fp32_bytes} bytes of FP32 and "
            f"{op.other_bytes} others"
        )
    if op.measured_s is not None:
        check_seconds(op.measured_s, f"the measured duration of operator {index}")

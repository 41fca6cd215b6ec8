"""Casts of weights among the saved activations of a pass in mixed precision.

Autocast casts a weight before a product, and backward reads the cast: by the paper's definition
(IV) a saved activation, though it holds a weight and does not grow with the batch.
"""

from planezip.records import Capture, Trace
from planezip.records.align import corresponding_ops

_CAST = "aten._to_copy."


def weight_casts(trace: Trace) -> tuple[int, ...]:
    """Ids of the saved activations that a cast made of parameters alone, ascending."""
    parameters = {s.id for s in trace.storages if s.kind == "parameter"}
    casts = {
        op.index
        for op in trace.ops[: trace.forward_end]
        if op.name.startswith(_CAST) and op.reads and parameters.issuperset(op.reads)
    }
    return tuple(s for s in trace.saved if trace.storages[s].producer in casts)


def captured_weight_casts(capture: Capture, trace: Trace) -> frozenset[tuple[int, int]]:
    """Operator and output slot of the weight casts in a capture, found by those of a trace.

    A capture does not say what its operators read; the trace of the same model, mixed in precision
    as well and perhaps of another batch, does.
    """
    counterpart = corresponding_ops(tuple(op.name for op in trace.ops), capture.op_names)
    storages = (trace.storages[s] for s in weight_casts(trace))
    return frozenset(
        (counterpart[s.producer], s.slot) for s in storages if s.producer in counterpart
    )

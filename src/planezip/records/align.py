"""Finds for every saved activation of a trace its measured counterpart in a capture (paper IV)."""

from dataclasses import dataclass

import numpy as np

from planezip.errors import InputError
from planezip.records.capture import Capture, TensorCapture
from planezip.records.trace import Trace
from planezip.units import counted


@dataclass(frozen=True, slots=True)
class Alignment:
    """What a capture knows about the saved activations of a trace.

    Attributes:
        matches: saved storage id -> its capture, None where there is none. Such a tensor is to be
            treated as incompressible.
        unmatched_bytes: bytes of the saved activations without a counterpart, as traced.
        saved_bytes: bytes of all saved activations, as traced.
    """

    matches: dict[int, TensorCapture | None]
    unmatched_bytes: int
    saved_bytes: int

    @property
    def unmatched_share(self) -> float:
        """Share of the saved bytes that must be treated as incompressible."""
        return self.unmatched_bytes / self.saved_bytes if self.saved_bytes else 0.0


def align(capture: Capture, trace: Trace, iteration: int = 0) -> Alignment:
    """Match saved activations by producing operator, output slot and element type.

    Capture and trace come from different runs, at different batch sizes and on different devices.
    Equal operator sequences correspond one to one, others by the longest common subsequence of
    their operators' names.

    Raises:
        InputError: the capture is of another model, or has no such iteration.
    """
    if capture.model != trace.model:
        raise InputError(
            f"the capture is of {capture.model!r} but the trace of {trace.model!r}; "
            "make both from the same model"
        )
    if not 0 <= iteration < len(capture.iterations):
        raise InputError(
            f"the capture has {counted(len(capture.iterations), 'iteration')} but {iteration + 1} "
            "are needed, "
            "one to plan with and the next to transfer with; capture more"
        )
    counterpart = corresponding_ops(tuple(op.name for op in trace.ops), capture.op_names)
    captured = {(t.op, t.slot): t for t in capture.iterations[iteration]}
    matches: dict[int, TensorCapture | None] = {}
    for s in trace.saved:
        storage = trace.storages[s]
        found = captured.get((counterpart.get(storage.producer, -2), storage.slot))
        matches[s] = found if found and found.dtype == storage.dtype else None
    unmatched = sum(trace.storages[s].bytes for s, tensor in matches.items() if tensor is None)
    return Alignment(matches, unmatched, trace.saved_bytes)


def corresponding_ops(ours: tuple[str, ...], theirs: tuple[str, ...]) -> dict[int, int]:
    """Index into `ours` -> index into `theirs` for the operators that correspond.

    The batch, which no operator produced, has index -1 in both.
    """
    pairs = {-1: -1}
    if ours == theirs:
        return pairs | {i: i for i in range(len(ours))}
    # Common beginnings and ends need no search, and the search takes quadratic time and memory.
    head = _common(ours, theirs)
    tail = _common(ours[head:][::-1], theirs[head:][::-1])
    pairs |= {i: i for i in range(head)}
    pairs |= {len(ours) - i: len(theirs) - i for i in range(1, tail + 1)}
    middle = _longest_common_subsequence(
        ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    )
    return pairs | {head + i: head + j for i, j in middle}


def _longest_common_subsequence(
    ours: tuple[str, ...], theirs: tuple[str, ...]
) -> list[tuple[int, int]]:
    """Pairs of indices, last first.

    The greedy search of difflib would not do: layers repeat, so that its longest stretch may pair
    one layer with another and lose all that lies between them.
    """
    numbers = {name: i for i, name in enumerate({*ours, *theirs})}
    columns = np.array([numbers[name] for name in theirs], np.int32)
    lengths = np.zeros((len(ours) + 1, len(theirs) + 1), np.int32)
    for i, name in enumerate(ours):
        extended = lengths[i, :-1] + (columns == numbers[name])
        np.maximum.accumulate(np.maximum(lengths[i, 1:], extended), out=lengths[i + 1, 1:])
    pairs = []
    i, j = len(ours), len(theirs)
    while i and j:
        if ours[i - 1] == theirs[j - 1]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif lengths[i - 1, j] >= lengths[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return pairs


def _common(ours: tuple[str, ...], theirs: tuple[str, ...]) -> int:
    """Length of the common beginning."""
    for i, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a != b:
            return i
    return min(len(ours), len(theirs))

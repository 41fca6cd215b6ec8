"""Captured tensors find their counterparts in a trace of another batch size."""

import random
from dataclasses import replace

import pytest

from planezip.errors import InputError
from planezip.records import Capture, Trace
from planezip.records.align import align, corresponding_ops


def test_equal_sequences_match_completely(trace: Trace, capture: Capture) -> None:
    alignment = align(capture, trace)
    assert tuple(alignment.matches) == trace.saved
    assert alignment.unmatched_bytes == 0
    assert alignment.unmatched_share == 0.0
    for s, tensor in alignment.matches.items():
        assert tensor is not None
        assert (tensor.op, tensor.slot) == (trace.storages[s].producer, trace.storages[s].slot)


def test_iterations_are_told_apart(trace: Trace, capture: Capture) -> None:
    assert align(capture, trace, 2).matches[trace.saved[0]] == capture.iterations[2][0]


def test_another_batch_size_matches(trace: Trace, capture: Capture) -> None:
    smaller = tuple(tuple(replace(t, bytes=t.bytes // 4) for t in i) for i in capture.iterations)
    assert align(replace(capture, iterations=smaller, batch=1), trace).unmatched_bytes == 0


def _with_extra_op(capture: Capture, at: int) -> Capture:
    """The capturing run had one more operator before position `at`."""
    names = (*capture.op_names[:at], "aten.clone.default", *capture.op_names[at:])
    moved = tuple(tuple(replace(t, op=t.op + (t.op >= at)) for t in i) for i in capture.iterations)
    return replace(capture, op_names=names, iterations=moved)


@pytest.mark.parametrize("at", [0, 3, 7, 12])
def test_an_extra_operator_is_skipped(trace: Trace, capture: Capture, at: int) -> None:
    alignment = align(_with_extra_op(capture, at), trace)
    assert alignment.unmatched_bytes == 0
    for s, tensor in alignment.matches.items():
        assert tensor is not None
        expected = trace.storages[s].producer
        assert tensor.op == expected + (expected >= at)


def test_an_operator_without_counterpart_leaves_its_tensor_unmatched(
    trace: Trace, capture: Capture
) -> None:
    s = trace.storages[trace.saved[3]]
    names = list(capture.op_names)
    names[s.producer] = "aten.other.default"
    alignment = align(replace(capture, op_names=tuple(names)), trace)
    assert alignment.matches[s.id] is None
    assert alignment.unmatched_bytes == s.bytes
    assert alignment.unmatched_share == s.bytes / trace.saved_bytes


def test_another_element_type_is_no_match(trace: Trace, capture: Capture) -> None:
    first, *rest = capture.iterations[0]
    changed = replace(capture, iterations=((replace(first, dtype="int64"), *rest),))
    assert align(changed, trace).matches[trace.saved[0]] is None


def test_another_model_is_refused(trace: Trace, capture: Capture) -> None:
    with pytest.raises(InputError, match="other"):
        align(replace(capture, model="other"), trace)


@pytest.mark.parametrize("iteration", [-1, 3])
def test_an_iteration_that_was_not_captured_is_refused(
    trace: Trace, capture: Capture, iteration: int
) -> None:
    with pytest.raises(InputError, match="3 iterations"):
        align(capture, trace, iteration)


def test_repeated_layers_with_scattered_differences_still_correspond() -> None:
    """Every edit may cost its own operators, not those of the layers around it."""
    rng = random.Random(0)
    layer = [rng.choice("abcdefgh") for _ in range(40)]
    ours = layer * 20
    theirs = list(ours)
    edits = 80
    for i in range(edits):
        at = rng.randrange(len(theirs))
        theirs[at : at + i % 2] = "x" * (1 - i % 2)
    pairs = corresponding_ops(tuple(ours), tuple(theirs))
    assert len(pairs) - 1 >= len(ours) - edits
    assert all(ours[i] == theirs[j] for i, j in pairs.items() if i >= 0)
    ordered = sorted(pairs.items())
    assert [j for _, j in ordered] == sorted(pairs.values())
    assert len(set(pairs.values())) == len(pairs)


def _length_of_longest_common_subsequence(a: str, b: str) -> int:
    """By the textbook recurrence."""
    row = [0] * (len(b) + 1)
    for x in a:
        diagonal = 0
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], diagonal + 1 if x == y else max(row[j], row[j - 1])
    return row[-1]


def test_as_many_operators_as_possible_correspond() -> None:
    rng = random.Random(1)
    for _ in range(200):
        a, b = ("".join(rng.choices("abc", k=rng.randrange(12))) for _ in range(2))
        pairs = corresponding_ops(tuple(a), tuple(b))
        assert len(pairs) - 1 == _length_of_longest_common_subsequence(a, b)

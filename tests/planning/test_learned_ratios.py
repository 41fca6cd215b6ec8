"""Ratios across operator sequences: the tensor's own, its operator's, everything's, or one."""

from dataclasses import replace

import pytest

from planezip.planning import LearnedRatios
from toynet import build_trace
from traces import TraceBuilder

SMALL, LARGE = build_trace(2, 1000), build_trace(3, 4000)


def writer(trace, storage):
    producer = trace.storages[storage].producer
    return trace.ops[producer].name if producer >= 0 else "input"


def test_nothing_measured_is_incompressible():
    assert LearnedRatios("fp32").predict(SMALL) == dict.fromkeys(SMALL.saved, 1.0)


def test_a_tensor_of_a_sequence_seen_before_has_its_own_last_ratio():
    learned = LearnedRatios("fp32")
    learned.update(SMALL, dict.fromkeys(SMALL.saved, 2.0))
    learned.update(SMALL, {SMALL.saved[0]: 3.0})
    assert learned.predict(SMALL) == {**dict.fromkeys(SMALL.saved, 2.0), SMALL.saved[0]: 3.0}


def test_a_new_sequence_takes_the_ratio_of_the_operator_weighted_by_bytes():
    learned = LearnedRatios("fp32")
    relus = [s for s in SMALL.saved if "relu" in writer(SMALL, s)]
    ratios = {s: 2.0 if s == relus[0] else 4.0 for s in SMALL.saved}
    learned.update(SMALL, ratios)
    sizes = {s: SMALL.storages[s].bytes for s in relus}
    pooled = sum(sizes.values()) / sum(sizes[s] / ratios[s] for s in relus)
    for s, ratio in learned.predict(LARGE).items():
        expected = pooled if "relu" in writer(LARGE, s) else 4.0
        assert ratio == pytest.approx(expected, rel=1e-12)


def test_an_operator_never_measured_takes_the_ratio_of_everything():
    learned = LearnedRatios("fp32")
    relus = {s: 2.0 for s in SMALL.saved if "relu" in writer(SMALL, s)}
    learned.update(SMALL, relus)
    assert set(learned.predict(LARGE).values()) == {2.0}


def test_outputs_of_one_operator_have_a_ratio_a_slot():
    b = TraceBuilder()
    batch = b.existing("input", 10)
    out, mask = b.op("forward", 1, [batch], new=[100, 25], name="dropout")
    again, other_mask = b.op("forward", 1, [out], new=[100, 25], name="dropout")
    b.op("backward", 1, [out, mask, again, other_mask], new=[1])
    trace, learned = b.build(), LearnedRatios("fp32")
    learned.update(trace, {out: 2.5, mask: 5.0})
    other = replace(trace, storages=(replace(trace.storages[0], bytes=11), *trace.storages[1:]))
    predicted = learned.predict(other)
    assert [predicted[s] for s in (out, mask, again, other_mask)] == pytest.approx([2.5, 5] * 2)

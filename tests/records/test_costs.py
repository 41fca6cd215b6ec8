"""Modelled durations and the memory baseline (paper IV)."""

from dataclasses import replace

import pytest
from hypothesis import given

from planezip.records import (
    Op,
    Trace,
    activation_bytes_over_time,
    compressed_bytes,
    iteration_seconds,
    op_seconds,
    peak_activation_bytes,
)
from traces import UNIT, TraceBuilder, traces

PLATFORM = replace(UNIT, launch_s=0.5, peak_flops_per_s=10.0, memory_bytes_per_s=2.0)


def op(index, phase="forward", flops=0, fp32=0, other=0, writes=(0,)):
    return Op(index, "op", phase, flops, fp32, other, (), writes)


def trace_of(*ops):
    return Trace("toy", 1, 0, ops, ())


def test_an_operator_takes_its_launch_plus_the_larger_of_math_and_memory_time():
    trace = trace_of(op(0, flops=100, fp32=4), op(1, flops=10, fp32=4))
    assert op_seconds(trace, PLATFORM) == (10.5, 2.5)


def test_bf16_halves_the_bytes_of_fp32_elements_only():
    trace = trace_of(op(0, fp32=8, other=4))
    assert op_seconds(trace, replace(PLATFORM, precision="bf16")) == (4.5,)


def test_views_take_no_time():
    assert op_seconds(trace_of(op(0, fp32=8, writes=())), PLATFORM) == (0.0,)


def test_the_optimizer_is_one_memory_bound_pass_with_one_launch():
    trace = trace_of(op(0, "optimizer", 10**9, 4), op(1, "optimizer", 10**9, 4))
    assert op_seconds(trace, PLATFORM) == (2.5, 2.0)
    assert iteration_seconds(trace, PLATFORM) == 4.5


def test_a_storage_lives_from_its_first_write_to_its_last_use_and_the_batch_from_the_start():
    b = TraceBuilder()
    batch = b.existing("input", 1)
    weight = b.existing("parameter", 1000)
    first = b.op("forward", 1, [weight], new=[10])
    b.op("forward", 1, [batch, first], new=[100])
    b.view("forward", [batch])
    b.op("backward", 1, [first], new=[5])
    assert activation_bytes_over_time(b.build(), "fp32") == (11, 111, 10, 15)
    assert peak_activation_bytes(b.build(), "fp32") == 111


@given(traces())
def test_the_peak_is_never_below_any_single_operators_own_storages(trace):
    needed = [
        sum(trace.storages[s].bytes for s in {*op.reads, *op.writes} if s != 1)
        for op in trace.ops
        if not op.is_view
    ]
    assert peak_activation_bytes(trace, "fp32") >= max(needed)


def test_an_empty_trace_has_no_peak():
    assert peak_activation_bytes(trace_of(), "fp32") == 0
    assert iteration_seconds(trace_of(), PLATFORM) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("raw", "ratio", "held"),
    [(10, 2.0, 5), (10, 3.0, 4), (10, 1.0, 10), (10, 0.5, 10), (0, 4.0, 0)],
)
def test_compressed_bytes_are_whole_and_never_more_than_raw(raw, ratio, held):
    assert compressed_bytes(raw, ratio) == held

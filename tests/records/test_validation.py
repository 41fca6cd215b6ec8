"""A record that contradicts itself is refused when it is read, in one line that says where."""

import json
from dataclasses import replace

import pytest
from hypothesis import given

from planezip.codec import CODECS
from planezip.errors import InputError
from planezip.records import Plan, Swap, Timeline, Trace, from_json, to_json
from planezip.records import capture as capture_records
from planezip.records.measurements import shipped
from planezip.records.validation import validate
from traces import traces

HUGE = 1 << 70


def refused(record, *changes) -> str:
    """Decode the record with members replaced: ((path of keys), value); returns the line."""
    tree = json.loads(to_json(record))
    for path, value in changes:
        at = tree
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
    with pytest.raises(InputError) as caught:
        from_json(json.dumps(tree).encode(), type(record), "odd.json")
    line = str(caught.value)
    assert line.startswith("odd.json is damaged: ")
    assert "\n" not in line
    return line


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("ops",), [], "produced by operator"),
        (("batch",), 0, "batch is 0"),
        (("batch",), -1, "batch is -1"),
        (("parameters",), -1, "parameters is -1"),
        (("parameters",), HUGE, "parameters"),
        (("storages", 7, "id"), 8, "not numbered from 0"),
        (("storages", 7, "bytes"), -1, "storage 7 has -1 bytes"),
        (("storages", 7, "bytes"), HUGE, "storage 7"),
        (("storages", 7, "bytes"), (1 << 63) - 1, "all storages together"),
        (("storages", 7, "slot"), -1, "slot -1"),
        (("storages", 7, "producer"), 999, "operator 999"),
        (("storages", 7, "producer"), -7, "operator -7"),
        (("storages", 7, "producer"), -1, "activation produced by operator -1"),
        (("storages", 7, "producer"), 3, "storage 7"),
        (("storages", 0, "producer"), 3, "input produced by operator 3"),
        (("ops", 3, "index"), 4, "operator 3 says 4"),
        (("ops", 3, "name"), "x", "operator 3 is called 'x'"),
        (("ops", 3, "name"), "aten.", "operator 3 is called 'aten.'"),
        (("ops", 3, "name"), ".relu", "operator 3 is called '.relu'"),
        (("ops", 3, "name"), "aten..relu", "operator 3 is called 'aten..relu'"),
        (("ops", 3, "flops"), -1, "operator 3 has -1 flops"),
        (("ops", 3, "flops"), HUGE, "operator 3"),
        (("ops", 3, "fp32_bytes"), -1, "operator 3"),
        (("ops", 3, "other_bytes"), HUGE, "operator 3"),
        (("ops", 3, "reads"), [10_000], "operator 3 uses a storage"),
        (("ops", 3, "reads"), [-1], "operator 3 uses a storage"),
        (("ops", 3, "reads"), [0, 0], "operator 3 names a storage twice"),
        (("ops", 0, "reads"), [15], "operator 0 reads storage 15 before it is written"),
        (("ops", 3, "writes"), [], "before it is written"),
        (("ops", 3, "writes"), [10, 30], "operator 3 writes storage 30 first"),
        (("ops", 16, "phase"), "forward", "was over"),
        (("ops", 3, "measured_s"), -5.0, "measured duration of operator 3 is -5 s"),
        (("ops", 3, "measured_s"), 1e308, "measured duration of operator 3"),
        (("saved_by_hooks",), [-1], "saved_by_hooks"),
        (("saved_by_hooks",), [10_000], "saved_by_hooks"),
        (("saved_by_hooks",), [2, 1], "saved_by_hooks"),
    ],
)
def test_a_trace_that_no_iteration_leaves_is_refused(trace, path, value, said):
    assert said in refused(trace, (path, value))


@pytest.mark.parametrize("measured_s", [float("nan"), float("inf"), -1e-9, 2e6])
def test_no_operator_takes_less_than_nothing_or_forever(trace, measured_s):
    odd = tuple(replace(op, measured_s=measured_s) for op in trace.ops)
    with pytest.raises(InputError, match="the measured duration of operator 0 is"):
        validate(replace(trace, ops=odd))
    validate(replace(trace, ops=tuple(replace(op, measured_s=0.5) for op in trace.ops)))
    with pytest.raises(InputError, match="no operator takes any time"):
        validate(replace(trace, ops=tuple(replace(op, measured_s=0.0) for op in trace.ops)))


def test_a_trace_without_work_or_memory_is_refused(trace):
    existing = tuple(replace(s, kind="parameter", producer=-1) for s in trace.storages)
    views = tuple(replace(op, writes=()) for op in trace.ops)
    assert "writes anything" in refused(replace(trace, ops=views, storages=existing))
    assert "memory" in refused(replace(trace, storages=existing))
    nothing = tuple(replace(s, bytes=0) for s in trace.storages)
    assert "memory" in refused(replace(trace, storages=nothing))


TENSOR = ("iterations", 1, 2)
SIZES = (*TENSOR, "sizes", "bf16")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("batch",), 0, "batch is 0"),
        (("iterations",), [], "no iteration"),
        (("iterations", 1), [], "iteration 1 holds no saved activation"),
        (("losses",), [1.0], "losses of 1 iteration, tensors of 3"),
        (("op_names",), ["aten.relu.default"], "operator that there isn't"),
        ((*TENSOR, "op"), -2, "tensor 2 of iteration 1 has operator -2"),
        ((*TENSOR, "slot"), -1, "slot -1"),
        ((*TENSOR, "bytes"), -1, "-1 bytes"),
        ((*TENSOR, "bytes"), HUGE, f"{HUGE} bytes"),
        ((*TENSOR, "chunk_stride"), 0, "stride 0"),
        ((*TENSOR, "op_name"), "relu", "'relu'"),
        ((*TENSOR, "op_name"), "aten.", "'aten.'"),
        (("op_names", 1), "relu", "operator 1 is called 'relu'"),
        ((*TENSOR, "sizes"), {}, "no sizes at"),
        ((*SIZES, "raw_bytes"), 0, "0 bytes measured"),
        ((*SIZES, "raw_bytes"), -1, "-1 bytes measured"),
        ((*SIZES, "raw_bytes"), HUGE, "bytes measured"),
        ((*SIZES, "wire_bytes"), {"zvc": 1}, "no size under bdi"),
        ((*SIZES, "wire_bytes", "zvc"), 0, "0 bytes under zvc"),
        ((*SIZES, "wire_bytes", "zvc"), -1, "-1 bytes under zvc"),
        ((*SIZES, "wire_bytes", "zvc"), HUGE, "under zvc"),
        ((*SIZES, "wire_bytes", "zvc"), 1, "no codec reaches"),
        ((*SIZES, "symbol32_wire_bytes"), 0, "0 bytes under planezip"),
        ((*SIZES, "encoder_blocks", "bx"), -1, "number of blocks"),
    ],
)
def test_a_capture_that_no_measurement_leaves_is_refused(capture, path, value, said):
    assert said in refused(capture, (path, value))


PLAN = Plan(
    "toynet", "B", "swap", "all", 100, False, {1: "swap"}, {1: 1.5}, (), (Swap(1, -1, -1, -1, -1),)
)
STEP = {"op": 0, "into": [], "free": [], "replay_for": -1}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("budget_bytes",), -1, "budget is -1"),
        (("budget_bytes",), HUGE, "budget"),
        (("predicted_s",), -1.0, "duration is -1"),
        (("evaluations",), -1, "plans tried is -1"),
        (("seed",), -(10**30), "seed is -1"),
        (("ratios",), {}, "storage 1 does not have both"),
        (("ratios",), {"2": 1.5}, "storage 1 does not have both"),
        (("ratios", "1"), 0.0, "ratio of storage 1 is 0"),
        (("ratios", "1"), -1.5, "ratio of storage 1 is -1.5"),
        (("ratios", "1"), 1e300, "ratio of storage 1"),
        (("steps",), [STEP | {"op": -1}], "step 0"),
        (("steps",), [STEP | {"into": [-1]}], "step 0"),
        (("steps",), [STEP | {"free": [-1]}], "step 0"),
        (("steps",), [STEP | {"replay_for": -2}], "step 0"),
        (("swaps", 0, "needed_by"), 9, "swap of storage 1"),
        (("swaps", 0, "out_after"), -2, "swap of storage 1"),
    ],
)
def test_a_plan_whose_numbers_mean_nothing_is_refused(path, value, said):
    assert from_json(to_json(PLAN), Plan, "plan.json") == PLAN
    assert said in refused(PLAN, (path, value))


@pytest.mark.parametrize("name", ["duration_s", "stall_s", "peak_bytes", "wire_bytes"])
def test_a_timeline_below_zero_is_refused(name):
    assert name in refused(Timeline(1.0, 0.0, 0.0, 5, 0, 0), ((name,), -1))


def test_what_nests_without_end_is_refused():
    with pytest.raises(InputError, match="not a valid Trace"):
        from_json(b'{"ops":' + b"[" * 100_000, Trace, "odd.json")


@given(traces())
def test_every_trace_with_memory_is_accepted(trace):
    try:
        assert from_json(to_json(trace), Trace, "trace.json") == trace
    except InputError as error:
        assert "activation memory" in str(error)  # noqa: PT017 - all sizes happen to be 0


def test_committed_results_are_accepted():
    measured = shipped()
    for model in measured.models():
        assert measured.trace(model).ops
        for weights in ("trained", "random"):
            assert measured.capture(model, weights).iterations


def test_captures_hold_the_codecs_that_there_are():
    assert set(capture_records.CODECS) == set(CODECS)

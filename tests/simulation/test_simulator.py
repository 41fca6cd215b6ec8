"""The simulator reproduces schedules computed by hand (paper IV), event by event."""

from dataclasses import replace

import pytest

from planezip.errors import PlanCheckError, PlanOverflowError
from planezip.planning import check_timeline
from planezip.records import Event, Plan, Step, Swap
from planezip.simulation import Simulator
from traces import UNIT, TraceBuilder


def two_layer_trace():
    """batch -> a (10 bytes) -> b (10 bytes) -> loss; backward reads b, then a.

    Storages: 0 batch, 1 a, 2 b, 3 gradient, 4 gradient. Steps are operators 0..4 of 4 s each.
    """
    b = TraceBuilder()
    batch = b.existing("input", 1)
    first = b.op("forward", 4, [batch], new=[10])
    second = b.op("forward", 4, [first], new=[10])
    gradient = b.op("backward", 4, [second], new=[2])
    b.op("backward", 4, [gradient, first], new=[2])
    return b.build()


def plan_for(trace, budget, steps, swaps=(), scratch=()):
    swapped = {w.storage for w in swaps}
    actions = {s: "swap" if s in swapped else "keep" for s in trace.saved}
    return Plan("toy", "unit", "test", "hand", budget, False, actions, {}, steps, swaps, scratch)


KEEP_STEPS = (Step(0, (1,), (0,)), Step(1, (2,)), Step(2, (3,), (2,)), Step(3, (4,), (1, 3, 4)))


def simulate(trace, plan, ratios=None, platform=UNIT):
    return Simulator(trace, platform).run(plan, ratios or {}, detail=True)


def test_without_eviction_operators_follow_each_other_and_memory_is_exact():
    trace = two_layer_trace()
    timeline = simulate(trace, plan_for(trace, 100, KEEP_STEPS))
    assert timeline.duration_s == 16.0
    assert (timeline.recompute_s, timeline.stall_s, timeline.peak_bytes) == (0.0, 0.0, 22)
    assert timeline.memory == (
        (0.0, 1), (0.0, 11), (4.0, 10), (4.0, 20), (8.0, 22), (12.0, 12), (12.0, 14), (16.0, 0),
    )  # fmt: skip


# Swaps a after its last forward use (step 1) and brings it back before step 2.
SWAP_A = Swap(storage=1, out_after=0, release_after=1, prefetch_before=2, needed_by=3)


def test_a_late_prefetch_stalls_the_operator_that_needs_it():
    trace = two_layer_trace()
    timeline = simulate(trace, plan_for(trace, 100, KEEP_STEPS, (SWAP_A,)))
    assert timeline.events == (
        Event(0.0, 4.0, "compute", "op", 0),
        Event(4.0, 8.0, "compute", "op", 1),
        Event(4.0, 14.0, "d2h", "swap_out", -1, 1),  # 10 bytes at 1 byte/s, once it is final
        Event(8.0, 12.0, "compute", "op", 2),
        Event(12.0, 24.0, "compute", "stall", 3, 1),  # waits for out (14) and back (24)
        Event(14.0, 24.0, "h2d", "swap_in", -1, 1),
        Event(24.0, 28.0, "compute", "op", 3),
    )
    assert (timeline.duration_s, timeline.stall_s) == (28.0, 12.0)
    assert (timeline.swapped_bytes, timeline.wire_bytes) == (10, 10)


def test_compression_shortens_both_transfers():
    trace = two_layer_trace()
    timeline = simulate(trace, plan_for(trace, 100, KEEP_STEPS, (SWAP_A,)), {1: 5.0})
    assert Event(4.0, 6.0, "d2h", "swap_out", -1, 1) in timeline.events
    assert Event(8.0, 10.0, "h2d", "swap_in", -1, 1) in timeline.events
    assert (timeline.duration_s, timeline.stall_s, timeline.wire_bytes) == (16.0, 0.0, 2)


def test_a_slow_engine_limits_and_a_slower_one_is_bypassed():
    trace = two_layer_trace()
    plan = plan_for(trace, 100, KEEP_STEPS, (SWAP_A,))
    engine_bound = simulate(trace, plan, {1: 10.0}, replace(UNIT, engine_bytes_per_s=2.0))
    assert Event(4.0, 9.0, "d2h", "swap_out", -1, 1) in engine_bound.events
    assert engine_bound.wire_bytes == 1
    bypassed = simulate(trace, plan, {1: 10.0}, replace(UNIT, engine_bytes_per_s=0.5))
    assert Event(4.0, 14.0, "d2h", "swap_out", -1, 1) in bypassed.events
    assert bypassed.wire_bytes == 10


def test_compressing_in_place_takes_the_engine_and_leaves_the_compressed_bytes():
    trace = two_layer_trace()
    swap = Swap(
        storage=1, out_after=1, release_after=1, prefetch_before=3, needed_by=3, in_place=True
    )
    plan = replace(plan_for(trace, 100, KEEP_STEPS, (swap,)), actions={1: "compress", 2: "keep"})
    platform = replace(UNIT, encode_bytes_per_s=5.0, decode_bytes_per_s=2.0, copy_setup_s=1.0)
    timeline = simulate(trace, plan, {1: 2.4}, platform)
    assert timeline.events == (
        Event(0.0, 4.0, "compute", "op", 0),
        Event(4.0, 8.0, "compute", "op", 1),
        Event(8.0, 11.0, "d2h", "encode", -1, 1),  # when its last use is over: 1 + 10 / 5
        Event(8.0, 12.0, "compute", "op", 2),
        Event(12.0, 18.0, "compute", "stall", 3, 1),
        Event(12.0, 18.0, "h2d", "decode", -1, 1),  # 1 + 10 / 2
        Event(18.0, 22.0, "compute", "op", 3),
    )
    assert timeline.memory == (
        (0.0, 1), (0.0, 11), (4.0, 10), (4.0, 20), (8.0, 22),
        (11.0, 17),  # 10 bytes become 5
        (12.0, 7), (12.0, 17), (18.0, 12), (18.0, 14), (22.0, 0),
    )  # fmt: skip
    assert (timeline.swapped_bytes, timeline.wire_bytes, timeline.stall_s) == (0, 0, 6.0)
    check_timeline(trace, platform, plan, timeline, {1: 2.4})
    with pytest.raises(PlanCheckError, match="as said"):
        check_timeline(trace, platform, plan, replace(timeline, peak_bytes=28), {1: 2.4})


def test_decompressing_waits_for_room_beside_the_compressed_bytes():
    trace = two_layer_trace()
    swap = Swap(1, 1, 1, 2, 3, in_place=True)
    plan = replace(plan_for(trace, 22, KEEP_STEPS, (swap,)), actions={1: "compress", 2: "keep"})
    timeline = simulate(trace, plan, {1: 2.0}, replace(UNIT, engine_bytes_per_s=10.0))
    # Asked for at 8; 5 + 10 + 2 bytes are there until b is freed at 12.
    assert Event(12.0, 13.0, "h2d", "decode", -1, 1) in timeline.events


def test_without_room_beside_the_compressed_bytes_the_plan_overflows():
    b = TraceBuilder()
    batch = b.existing("input", 1)
    first = b.op("forward", 4, [batch], new=[10])
    second = b.op("forward", 4, [first], new=[5])
    gradient = b.op("backward", 4, [second], new=[2])
    b.op("backward", 4, [gradient, first], new=[2])
    trace = b.build()
    plan = plan_for(trace, 20, KEEP_STEPS, (Swap(1, 1, 1, 3, 3, in_place=True),))
    assert simulate(trace, plan, {1: 1.25}).peak_bytes == 20  # 8 + 10, and a gradient
    with pytest.raises(PlanOverflowError) as caught:
        simulate(trace, replace(plan, budget_bytes=19), {1: 1.25})
    assert (caught.value.step, caught.value.needed_bytes) == (3, 20)


def test_set_up_is_paid_per_transfer():
    trace = two_layer_trace()
    plan = plan_for(trace, 100, KEEP_STEPS, (SWAP_A,))
    timeline = simulate(trace, plan, {1: 5.0}, replace(UNIT, copy_setup_s=1.0))
    assert Event(4.0, 7.0, "d2h", "swap_out", -1, 1) in timeline.events


def test_an_allocation_that_does_not_fit_waits_for_a_slow_swap_out():
    # a is not read again in forward: it leaves while b is computed, and step 2 needs its room.
    b = TraceBuilder()
    batch = b.existing("input", 1)
    first = b.op("forward", 2, [batch], new=[10])
    second = b.op("forward", 2, [batch], new=[10])
    third = b.op("forward", 2, [second], new=[5])
    gradient = b.op("backward", 2, [third], new=[1])
    b.op("backward", 2, [gradient, first], new=[1])
    trace = b.build()
    steps = (
        Step(0, (1,)), Step(1, (2,), (0,)), Step(2, (3,), (2,)),
        Step(3, (4,), (3,)), Step(4, (5,), (1, 4, 5)),
    )  # fmt: skip
    swap = Swap(storage=1, out_after=0, release_after=0, prefetch_before=4, needed_by=4)
    timeline = simulate(trace, plan_for(trace, 22, steps, (swap,)))
    assert timeline.events == (
        Event(0.0, 2.0, "compute", "op", 0),
        Event(2.0, 4.0, "compute", "op", 1),
        Event(2.0, 12.0, "d2h", "swap_out", -1, 1),
        Event(4.0, 12.0, "compute", "stall", 2),  # 10 + 10 + 5 > 22 until a has left
        Event(12.0, 14.0, "compute", "op", 2),
        Event(14.0, 16.0, "compute", "op", 3),
        Event(16.0, 26.0, "compute", "stall", 4, 1),
        Event(16.0, 26.0, "h2d", "swap_in", -1, 1),
        Event(26.0, 28.0, "compute", "op", 4),
    )
    assert timeline.stall_s == 18.0
    assert timeline.peak_bytes == 21


def three_saved_trace():
    """a, b, c of 4 bytes each; backward reads c, b, a. Storages 1, 2, 3; gradients 4, 5, 6."""
    b = TraceBuilder()
    batch = b.existing("input", 0)
    a = b.op("forward", 1, [batch], new=[4])
    second = b.op("forward", 1, [a], new=[4])
    third = b.op("forward", 1, [second], new=[4])
    g = b.op("backward", 1, [third], new=[1])
    g = b.op("backward", 1, [g, second], new=[1])
    b.op("backward", 1, [g, a], new=[1])
    return b.build()


THREE_STEPS = (
    Step(0, (1,), (0,)), Step(1, (2,)), Step(2, (3,)), Step(3, (4,), (3,)),
    Step(4, (5,), (2, 4)), Step(5, (6,), (1, 5, 6)),
)  # fmt: skip


def test_both_queues_are_fifo():
    trace = three_saved_trace()
    swaps = (Swap(1, 0, 1, 3, 5), Swap(2, 1, 2, 3, 4))
    timeline = simulate(trace, plan_for(trace, 100, THREE_STEPS, swaps))
    copies = [e for e in timeline.events if e.stream != "compute"]
    assert copies == [
        Event(1.0, 5.0, "d2h", "swap_out", -1, 1),
        Event(5.0, 9.0, "d2h", "swap_out", -1, 2),
        # Both are asked for at step 3; b is needed first and goes first, though a is out earlier.
        Event(9.0, 13.0, "h2d", "swap_in", -1, 2),
        Event(13.0, 17.0, "h2d", "swap_in", -1, 1),
    ]
    assert timeline.duration_s == 18.0


def test_a_prefetch_waits_for_room():
    trace = three_saved_trace()
    swap = Swap(1, 0, 1, 2, 5)
    timeline = simulate(trace, plan_for(trace, 12, THREE_STEPS, (swap,)))
    assert [e for e in timeline.events if e.start_s >= 1.0] == [
        Event(1.0, 2.0, "compute", "op", 1),
        Event(1.0, 5.0, "d2h", "swap_out", -1, 1),
        Event(2.0, 3.0, "compute", "op", 2),
        Event(3.0, 5.0, "compute", "stall", 3),  # a, b, c fill 12 bytes until a has left
        Event(5.0, 6.0, "compute", "op", 3),
        Event(6.0, 7.0, "compute", "op", 4),
        Event(6.0, 10.0, "h2d", "swap_in", -1, 1),  # asked for at 2; room when c is freed
        Event(7.0, 10.0, "compute", "stall", 5, 1),
        Event(10.0, 11.0, "compute", "op", 5),
    ]
    assert timeline.peak_bytes == 12


def test_a_replay_takes_compute_time_and_memory():
    trace = two_layer_trace()
    steps = (
        Step(0, (1,)), Step(1, (2,), (1,)), Step(2, (3,), (2,)),
        Step(0, (1,), (0,), replay_for=1), Step(3, (4,), (1, 3, 4)),
    )  # fmt: skip
    timeline = simulate(trace, plan_for(trace, 100, steps))
    assert Event(12.0, 16.0, "compute", "replay", 3, 1) in timeline.events
    assert (timeline.duration_s, timeline.recompute_s) == (20.0, 4.0)


def test_a_replay_that_overflows_the_budget_is_refused():
    trace = two_layer_trace()
    steps = (
        Step(0, (1,)), Step(1, (2,)), Step(2, (3,)),
        Step(0, (5,), (0,), replay_for=1), Step(3, (4,), (1, 2, 3, 4, 5)),
    )  # fmt: skip
    plan = plan_for(trace, 32, steps, scratch=(1,))
    with pytest.raises(PlanOverflowError) as caught:
        simulate(trace, plan)
    assert caught.value.step == 3
    assert caught.value.needed_bytes == 33


def test_the_same_input_gives_the_same_timeline():
    trace = three_saved_trace()
    plan = plan_for(trace, 12, THREE_STEPS, (Swap(1, 0, 1, 2, 5),))
    assert simulate(trace, plan) == simulate(trace, plan)

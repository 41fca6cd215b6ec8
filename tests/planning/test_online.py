"""Online eviction on random traces: right values, within the budget, nothing known beforehand."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planezip.errors import PlanCheckError, PlanOverflowError
from planezip.planning import Planner, Problem, check_online, run_online
from planezip.records import Departure, Return, Step, iteration_seconds, platform
from planezip.records.measurements import shipped
from planezip.simulation import OnlineMachine, Simulator
from traces import UNIT, TraceBuilder, chain_trace, random_trace, traces

RATIOS = st.sampled_from([1.0, 1.5, 4.0])


def run(trace, budget_bytes, predicted, actual=None, platform=UNIT):
    """The iteration, or what did not fit."""
    actual = {} if actual is None else actual
    machine = OnlineMachine(Simulator(trace, platform), budget_bytes, actual, detail=True)
    problem = Problem(trace, platform)
    try:
        run_online(problem, Planner(problem).layout, machine, predicted)
    except PlanOverflowError as error:
        return error
    done = machine.iteration()
    check_online(trace, platform, done, actual)
    return done


def ways(done):
    return [(entry.storage, entry.way) for entry in done.log if isinstance(entry, Departure)]


@settings(max_examples=400, deadline=None)
@given(traces(), st.integers(30, 100), RATIOS, st.booleans())
def test_every_operator_finds_its_values_within_the_budget_or_the_budget_is_refused(
    trace, percent, ratio, swaps
):
    budget = Problem(trace, UNIT).peak_bytes * percent // 100
    predicted = {s: ratio + s % 3 for s in trace.saved} if swaps else None
    actual = {s: ratio + s % 4 for s in trace.saved} if swaps else {}
    done = run(trace, budget, predicted, actual)
    if isinstance(done, PlanOverflowError):
        assert done.needed_bytes > budget
    else:
        assert done.timeline.peak_bytes <= budget
        assert swaps or {way for _, way in ways(done)} <= {"drop"}


@settings(max_examples=60, deadline=None)
@given(traces())
def test_with_room_for_everything_nothing_leaves(trace):
    done = run(trace, Problem(trace, UNIT).peak_bytes, {})
    assert all(isinstance(entry, Step) for entry in done.log)
    assert done.timeline.duration_s == pytest.approx(iteration_seconds(trace, UNIT))


def with_another_future(trace, now, random):
    """Operators after `now` take other times, and read what is in use anyway once more."""
    last = {s: op.index for op in trace.ops if not op.is_view for s in (*op.reads, *op.writes)}
    ops = list(trace.ops)
    for op in trace.ops[now + 1 :]:
        again = [s for s in trace.saved if last[s] > op.index and s not in op.writes]
        seen = random.sample(again, min(len(again), 2))
        reads = tuple(dict.fromkeys((*op.reads, *seen)))
        if op.phase == "backward" and not op.is_view:
            ops[op.index] = replace(op, reads=reads, flops=random.randint(0, 9))
    return replace(trace, ops=tuple(ops))


def until(done, op):
    """The log up to the operator's own step, if it got there."""
    own = [entry for entry in done.log if isinstance(entry, Step) and entry.replay_for < 0]
    return done.log[: done.log.index(next(entry for entry in own if entry.op == op)) + 1]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(40, 90), st.floats(0, 1))
def test_what_is_decided_depends_on_nothing_that_comes_later(seed, percent, part):
    trace = random_trace(Random(seed))
    computing = [op.index for op in trace.ops if not op.is_view]
    now = computing[int(part * (len(computing) - 1))]
    other = with_another_future(trace, now, Random(seed))
    budget = Problem(trace, UNIT).peak_bytes * percent // 100
    mine, theirs = run(trace, budget, {}), run(other, budget, {})
    if not isinstance(mine, PlanOverflowError) and not isinstance(theirs, PlanOverflowError):
        assert until(mine, now) == until(theirs, now)


def test_the_tensor_with_the_least_cost_by_bytes_and_staleness_leaves_first():
    # When 6 is written, 1, 2, 3 and 4 were last used 9, 6, 3 and 0 s ago and a replay of any takes
    # 3 s: the scores are 3 s over 10 x 9, 10 x 6, 50 x 3 and 0.
    trace = chain_trace([10, 10, 50, 10, 10, 10], 3, 3)
    done = run(trace, 91, None)
    assert ways(done)[0] == (3, "drop")


def test_what_is_cheaper_to_move_than_to_recompute_is_swapped_and_fetched():
    trace = chain_trace([10] * 8, 30, 3)
    compressed = dict.fromkeys(trace.saved, 10.0)
    assert {way for _, way in ways(run(trace, 61, compressed, compressed))} == {"swap"}
    # Raw, a transfer takes 10 s of a link with 1 byte/s, less than the 30 s of a replay, too.
    slow = replace(UNIT, d2h_bytes_per_s=0.1, h2d_bytes_per_s=0.1)
    assert {way for _, way in ways(run(trace, 61, {}, {}, slow))} == {"drop"}
    fetched = run(trace, 61, compressed, compressed)
    assert any(isinstance(entry, Return) for entry in fetched.log)


def test_only_the_cost_of_eq_1_believes_in_the_predicted_ratio():
    """Transfers take what they take: the machine knows the ratios of the iteration itself."""
    trace = chain_trace([10] * 8, 30, 3)
    believed = dict.fromkeys(trace.saved, 10.0)
    hoped, true = run(trace, 61, believed, believed), run(trace, 61, believed, {})
    assert hoped.timeline.duration_s < true.timeline.duration_s


def test_a_tensor_that_the_host_still_holds_leaves_at_once():
    b = TraceBuilder()
    batch = b.existing("input", 1)
    a = b.op("forward", 50, [batch], new=[10])
    others = [a]
    for _ in range(3):
        others.append(b.op("forward", 50, [others[-1]], new=[10]))
    g = b.op("backward", 1, [others[3]], new=[1])
    g = b.op("backward", 1, [g, others[2]], new=[1])
    g = b.op("backward", 1, [g, others[1]], new=[1])
    g = b.op("backward", 1, [g, a], new=[1])  # fetches what has been swapped
    g = b.op("backward", 1, [g], new=[30])  # the same has to leave again
    g = b.op("backward", 1, [g], new=[1])
    b.op("backward", 1, [g, a], new=[0])
    done = run(b.build(), 35, {})
    assert ways(done) == [(a, "swap"), (a, "release")]
    assert sum(isinstance(entry, Return) for entry in done.log) == 2
    assert done.timeline.swapped_bytes == 10


def test_what_nothing_else_rebuilds_is_brought_back_before_its_source_goes():
    b = TraceBuilder()
    batch = b.existing("input", 10)
    a = b.op("forward", 1, [batch], new=[10])
    c = b.op("forward", 1, [a], new=[10])
    d, _ = b.op("forward", 1, [c], new=[10, 10])  # a leaves: the batch can make it again
    e = b.op("forward", 1, [d], in_place=[batch], new=[0])  # now it no longer can
    g = b.op("backward", 1, [e, d, c], new=[1])
    b.op("backward", 1, [g, a], new=[1])
    done = run(b.build(), 40, None)
    assert ways(done)[0] == (a, "drop")
    steps = [(entry.op, entry.replay_for) for entry in done.log if isinstance(entry, Step)]
    assert steps.index((0, a)) < steps.index((3, -1))


@pytest.mark.parametrize("model", ["gpt2", "efficientnet_b0"])
def test_real_iterations_are_proved_in_half_of_their_memory(model):
    trace, on = shipped().trace(model), platform("B")
    budget = Problem(trace, on).peak_bytes // 2
    predicted = dict.fromkeys(trace.saved, 3.0)
    actual = {s: 2.0 + s % 2 for s in trace.saved}
    done = run(trace, budget, predicted, actual, on)
    assert len(ways(done)) > 10
    assert 0.95 * budget < done.timeline.peak_bytes <= budget


def damaged(done, **changes):
    return replace(done, timeline=replace(done.timeline, **changes))


def test_the_checker_refuses_what_is_wrong():
    trace = chain_trace([10] * 8, 30, 3)
    ratios = dict.fromkeys(trace.saved, 10.0)
    done = run(trace, 61, ratios, ratios)
    back = next(e for e in done.log if isinstance(e, Return))
    leave = next(e for e in done.log if isinstance(e, Departure))
    events = done.timeline.events
    wrong = {
        "does not find": replace(done, log=tuple(e for e in done.log if e is not back)),
        "was not there": replace(done, log=(*done.log, leave)),
        "never copied": replace(done, log=(Return(5), *done.log)),
        "in order": replace(done, log=done.log[:-1]),
        "memory reaches": replace(done, budget_bytes=done.timeline.peak_bytes - 1),
        "the peak is": damaged(done, peak_bytes=1),
        "duration is wrong": damaged(done, duration_s=1.0),
        "wrong duration": damaged(
            done, events=(*events[:-1], replace(events[-1], end_s=events[-1].end_s + 5))
        ),
        "more on h2d": damaged(done, events=tuple(e for e in events if e.stream != "h2d")),
        "overlap": damaged(done, events=(events[0], *events)),
        "not in the log": damaged(done, events=(*events, replace(events[-1], start_s=1e6))),
    }
    for message, broken in wrong.items():
        with pytest.raises(PlanCheckError, match=message):
            check_online(trace, UNIT, broken, ratios)
    with pytest.raises(PlanCheckError, match="should take"):
        check_online(trace, UNIT, done, {})


def test_the_checker_refuses_a_replay_of_what_has_not_run():
    trace = chain_trace([10] * 4, 3, 3)
    done = run(trace, 100, None)
    early = replace(done.log[2], replay_for=3)
    with pytest.raises(PlanCheckError, match="has not run yet"):
        check_online(trace, UNIT, replace(done, log=(early, *done.log)), {})


def holding(trace, *storages):
    """The trace of a program that holds these storages throughout."""
    held = (replace(s, evictable=s.id not in storages) for s in trace.storages)
    return replace(trace, storages=tuple(held))


def once(trace):
    return replace(trace, ops=tuple(replace(op, repeatable=False) for op in trace.ops))


@settings(max_examples=150, deadline=None)
@given(traces(), st.integers(30, 100), RATIOS, st.integers(1, 4))
def test_what_the_program_holds_or_cannot_repeat_is_left_alone(trace, percent, ratio, part):
    held = [s.id for s in trace.storages if s.id % part == 0]
    ops = tuple(replace(op, repeatable=op.index % part != 1) for op in trace.ops)
    trace = replace(holding(trace, *held), ops=ops)
    budget = Problem(trace, UNIT).peak_bytes * percent // 100
    done = run(trace, budget, dict.fromkeys(trace.saved, ratio))
    if not isinstance(done, PlanOverflowError):
        assert not {s for s, _ in ways(done)}.intersection(held)
        replayed = {e.op for e in done.log if isinstance(e, Step) and e.replay_for >= 0}
        assert all(trace.ops[op].repeatable for op in replayed)


@pytest.mark.parametrize("predicted", [None, {}], ids=["drop", "swap"])
def test_the_checker_refuses_what_the_trace_forbids(predicted):
    trace = chain_trace([10] * 8, 30, 3)
    done = run(trace, 61, predicted)
    left = {s for s, _ in ways(done)}
    check_online(holding(trace, *set(range(len(trace.storages))) - left), UNIT, done, {})
    with pytest.raises(PlanCheckError, match="which is not evictable"):
        check_online(holding(trace, *left), UNIT, done, {})
    if predicted is None:
        with pytest.raises(PlanCheckError, match="not repeatable"):
            check_online(once(trace), UNIT, done, {})

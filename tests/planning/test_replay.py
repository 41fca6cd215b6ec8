"""Replay costs follow the drops (paper III-C: charged again for every dropped dependant)."""

from hypothesis import given
from hypothesis import strategies as st

from planezip.planning.problem import Problem
from planezip.planning.replay import ReplayCosts, bits, replay_peak_bytes, replay_positions
from traces import UNIT, TraceBuilder, chain_trace, traces


def test_a_drop_makes_the_replay_of_its_readers_longer_and_is_charged_for_them():
    costs = ReplayCosts(Problem(chain_trace([10] * 3, [1, 2, 4]), UNIT))
    assert [costs.seconds(s) for s in (1, 2, 3)] == [1, 2, 4]
    costs.drop(2)
    assert [costs.seconds(s) for s in (1, 2, 3)] == [1, 2, 6]
    assert costs.charge_s(1) == 2  # once for itself, once for the replay of 2
    costs.drop(1)
    assert [costs.seconds(s) for s in (1, 2, 3)] == [1, 3, 7]


def test_the_batch_and_what_hangs_on_an_overwritten_batch_cannot_be_dropped():
    b = TraceBuilder()
    batch = b.existing("input", 1)
    first = b.op("forward", 1, [batch], new=[10])
    b.op("forward", 1, [batch], in_place=[batch])
    second = b.op("forward", 1, [batch], new=[10])
    b.op("backward", 1, [batch, first, second], new=[1])
    costs = ReplayCosts(Problem(b.build(), UNIT))
    assert [s for s in (0, 1, 2) if costs.can_drop(s)] == [2]


def test_peak_of_a_replay_frees_what_it_no_longer_reads():
    problem = Problem(chain_trace([10] * 3, [1, 2, 4]), UNIT)
    assert replay_peak_bytes(problem, [0, 1, 2], 3) == 20


@given(traces(), st.integers(0, 10**6))
def test_incremental_costs_equal_a_replay_worked_out_from_scratch(trace, order):
    problem = Problem(trace, UNIT)
    costs = ReplayCosts(problem)
    droppable = sorted(costs.positions, key=lambda t: hash((t, order)))
    for t in droppable[: len(droppable) // 2 + 1]:
        costs.drop(t)

    def available(storage, version):
        kept = storage in problem.candidates and storage not in costs.dropped
        return kept and version == problem.forward_version[storage]

    for t in droppable:
        target = [(t, problem.forward_version[t])]
        positions, inputs = replay_positions(problem, target, available)
        assert bits(costs.positions[t]) == positions
        assert costs.frontier[t] == inputs & problem.candidates.keys()
        assert costs.seconds(t) == sum(problem.seconds[p] for p in positions)
        written = sum(problem.bytes[s] for p in positions for s in problem.writes[p])
        assert replay_peak_bytes(problem, positions, t) <= written <= costs.written_bytes[t]


def test_a_copy_is_independent():
    costs = ReplayCosts(Problem(chain_trace([10] * 3, [1, 2, 4]), UNIT))
    twin = costs.copy()
    twin.drop(2)
    assert costs.seconds(3) == 4
    assert not costs.dropped


def test_where_replays_keep_what_they_recompute_every_drop_is_charged_once():
    costs = ReplayCosts(Problem(chain_trace([10] * 3, [1, 2, 4]), UNIT), kept=True)
    costs.drop(2)
    assert [costs.seconds(s) for s in (1, 2, 3)] == [1, 2, 4]
    assert costs.charge_s(1) == 1


@given(st.integers(0, 1 << 300))
def test_bits_are_those_that_are_set(number):
    assert bits(number) == [i for i in range(number.bit_length()) if number >> i & 1]

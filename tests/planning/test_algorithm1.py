"""The two stages of Algorithm 1 and the deadlines of its queues."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from planezip.planning.algorithm1 import CopyQueues, Link, cover_deficit, fill_link
from planezip.planning.draft import Draft
from planezip.planning.problem import Problem
from planezip.planning.replay import ReplayCosts
from planning import reference
from traces import UNIT, TraceBuilder, chain_trace, traces


def draft_for(trace):
    problem = Problem(trace, UNIT)
    return Draft(problem, ReplayCosts(problem))


def naive_feasible(problem, chosen, copy_s, in_place=()):
    """Both FIFO queues simulated transfer by transfer."""
    c = problem.candidates

    def may_start_s(t):
        over_s = float(problem.start_s[c[t].last_forward_use + 1])
        return over_s if t in in_place else c[t].ready_s

    clock = 0.0
    for t in sorted(chosen, key=may_start_s):
        clock = max(clock, may_start_s(t)) + copy_s[t]
    if clock > problem.forward_s:
        return False
    clock = problem.forward_s
    for t in sorted(chosen, key=lambda t: (c[t].first_use_s, t)):
        clock += copy_s[t]
        if clock > c[t].first_use_s:
            return False
    return True


@settings(deadline=None)
@given(traces(), st.integers(0, 2**32 - 1))
def test_admission_by_slack_equals_simulating_both_queues(trace, seed):
    random = Random(seed)
    problem = Problem(trace, UNIT)
    queues = CopyQueues(problem)
    order = list(problem.candidates)
    random.shuffle(order)
    copy_s = {t: float(random.randint(0, 8)) for t in order}
    chosen: list[int] = []
    for t in order:
        expected = naive_feasible(problem, [*chosen, t], copy_s)
        assert queues.admit(t, copy_s[t], copy_s[t]) == expected
        if expected:
            chosen.append(t)


@settings(deadline=None)
@given(traces(), st.integers(0, 2**32 - 1))
def test_mixed_queues_admit_what_simulating_both_with_encodings_lets_pass(trace, seed):
    random = Random(seed)
    problem = Problem(trace, UNIT)
    queues = CopyQueues(problem, mixed=True)
    order = list(problem.candidates)
    random.shuffle(order)
    copy_s = {t: float(random.randint(0, 8)) for t in order}
    in_place = {t for t in order if random.random() < 0.5}
    chosen: list[int] = []
    for t in order:
        expected = naive_feasible(problem, [*chosen, t], copy_s, in_place)
        assert queues.admit(t, copy_s[t], copy_s[t], t in in_place) == expected
        if expected:
            chosen.append(t)


def test_stage_one_stops_as_soon_as_memory_fits():
    draft = draft_for(chain_trace([10, 10, 10, 10], 10, 10))
    copy_s = dict.fromkeys(draft.problem.candidates, (1.0, 1.0))
    fill_link(draft, Link([1, 2, 3], copy_s, 1e9), draft.peak_bytes - 15)
    assert [t for t, action in draft.actions.items() if action == "swap"] == [1, 2]


def test_stage_one_spends_no_more_than_the_link_budget():
    draft = draft_for(chain_trace([10, 10, 10, 10], 10, 10))
    copy_s = dict.fromkeys(draft.problem.candidates, (3.0, 3.0))
    fill_link(draft, Link([1, 2, 3], copy_s, 7.0), 0)
    assert sum(action == "swap" for action in draft.actions.values()) == 2


def test_stage_two_drops_the_cheapest_second_per_byte_and_idle_second_first():
    # Equal cost and size: the first tensor is idle longest, so its score is lowest.
    draft = draft_for(chain_trace([10, 10, 10, 10], 10, 10))
    cover_deficit(draft, draft.peak_bytes - 5)
    assert [t for t, action in draft.actions.items() if action == "drop"] == [1]


def test_stage_two_swaps_where_eq_1_finds_the_transfer_cheaper():
    draft = draft_for(chain_trace([10, 10, 10, 10], 10, 10))
    cover_deficit(draft, draft.peak_bytes - 5, swap_cost_s=lambda candidate: 9.0)
    assert draft.actions[1] == "swap"
    draft = draft_for(chain_trace([10, 10, 10, 10], 10, 10))
    cover_deficit(draft, draft.peak_bytes - 5, swap_cost_s=lambda candidate: 11.0)
    assert draft.actions[1] == "drop"


def test_stage_two_skips_a_replay_that_would_not_fit_the_budget():
    # `second` is cheaper to replay than `first`, but only through a temporary of 60 bytes: with
    # what backward needs at that moment the replay takes 142 bytes. Either drop leaves 141.
    b = TraceBuilder()
    batch = b.existing("input", 1)
    first = b.op("forward", 99, [batch], new=[40])
    temporary = b.op("forward", 1, [batch], new=[60])
    second = b.op("forward", 1, [temporary], new=[40])
    last = b.op("forward", 50, [second], new=[60])
    g = b.op("backward", 50, [last], new=[40])
    g = b.op("backward", 1, [g, second], new=[1])
    b.op("backward", 1, [g, first, batch], new=[1])
    for target, dropped in ((141, [first]), (142, [second])):
        draft = draft_for(b.build())
        cover_deficit(draft, target)
        assert [t for t, action in draft.actions.items() if action == "drop"] == dropped


def test_equal_scores_drop_the_tensor_produced_first():
    # 20 s over (10 bytes x 20 s idle) and 10 s over (10 bytes x 10 s idle).
    b = TraceBuilder()
    batch = b.existing("input", 1)
    first = b.op("forward", 20, [batch], new=[10])
    second = b.op("forward", 10, [batch], new=[10])
    last = b.op("forward", 5, [batch], new=[10])
    g = b.op("backward", 5, [last], new=[1])
    b.op("backward", 5, [g, first, second, batch], new=[1])
    draft = draft_for(b.build())
    cover_deficit(draft, draft.peak_bytes - 5)
    assert [t for t, action in draft.actions.items() if action == "drop"] == [first]


@settings(deadline=None)
@given(traces(), st.integers(20, 95), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))
def test_stage_two_chooses_what_working_out_every_score_anew_would_choose(
    trace, percent, swap_s, compress_s
):
    problem = Problem(trace, UNIT)
    target = problem.peak_bytes * percent // 100
    swap, compress = (
        None if s is None else lambda c, s=s: float(s + c.storage % 5) for s in (swap_s, compress_s)
    )
    ratios = {t: 1.0 + t % 3 for t in problem.candidates}
    draft = Draft(problem, ReplayCosts(problem), ratios)
    cover_deficit(draft, target, swap, compress)
    assert draft.actions == reference.cover_deficit(problem, target, swap, compress, ratios)
    left = reference.memory_left(problem, draft.actions, ratios)
    assert draft.memory.tolist() == left.tolist()


def test_memory_of_a_draft_is_what_the_evictions_leave():
    draft = draft_for(chain_trace([10, 20, 30], 10, 10))
    before = draft.memory.copy()
    draft.evict(2, "swap")
    c = draft.problem.candidates[2]
    idle = slice(c.last_forward_use + 1, c.first_backward_use)
    assert (before - draft.memory)[idle].tolist() == [20] * (idle.stop - idle.start)
    assert (before - draft.memory).sum() == 20 * (idle.stop - idle.start)

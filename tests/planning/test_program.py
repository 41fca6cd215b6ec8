"""Actions become the program that the paper's semantics ask for, step by step."""

from hypothesis import given, settings
from hypothesis import strategies as st

from planezip.planning.problem import Problem
from planezip.planning.program import Residence, compile_program
from planezip.planning.replay import ReplayCosts
from planezip.records import Step
from planning.reference import Compiler
from traces import UNIT, TraceBuilder, traces


def chain():
    """batch 0 -> a 1 -> b 2 -> c 3; backward reads c, b, a: gradients 4, 5, 6."""
    b = TraceBuilder()
    batch = b.existing("input", 1)
    first = b.op("forward", 1, [batch], new=[10])
    second = b.op("forward", 2, [first], new=[20])
    third = b.op("forward", 3, [second], new=[30])
    g = b.op("backward", 1, [third], new=[1])
    g = b.op("backward", 1, [g, second], new=[1])
    b.op("backward", 1, [g, first, batch], new=[1])
    return b.build()


def compiled(trace, stays=(), **actions):
    problem = Problem(trace, UNIT)
    chosen = dict.fromkeys(problem.candidates, "keep")
    chosen.update({int(name[1:]): action for name, action in actions.items()})
    return compile_program(problem, chosen, stays)


def test_keeping_everything_frees_each_storage_after_its_last_use():
    program = compiled(chain())
    assert program.steps == (
        Step(0, (1,)),
        Step(1, (2,)),
        Step(2, (3,)),
        Step(3, (4,), (3,)),
        Step(4, (5,), (4, 2)),
        Step(5, (6,), (5, 1, 0, 6)),
    )
    assert program.memory.tolist() == [11, 31, 61, 62, 33, 13]


def test_a_dropped_tensor_leaves_after_forward_and_is_replayed_before_its_first_use():
    program = compiled(chain(), s2="drop")
    assert program.steps == (
        Step(0, (1,)),
        Step(1, (2,)),
        Step(2, (3,), (2,)),
        Step(3, (4,), (3,)),
        Step(1, (2,), (), replay_for=2),
        Step(4, (5,), (4, 2)),
        Step(5, (6,), (5, 1, 0, 6)),
    )
    assert program.memory.tolist() == [11, 31, 61, 42, 32, 33, 13]


def test_a_replay_recomputes_dropped_inputs_frees_them_and_recomputes_them_again_for_themselves():
    program = compiled(chain(), s1="drop", s2="drop")
    replays = [(s.op, s.into, s.free, s.replay_for) for s in program.steps if s.replay_for >= 0]
    assert replays == [
        (0, (1,), (), 2),
        (1, (2,), (1,), 2),  # b's input a is freed right after b's replay...
        (0, (1,), (), 1),  # ... and replayed again when backward needs a itself
    ]


def test_a_swapped_tensor_that_a_replay_reads_is_needed_by_the_replay():
    program = compiled(chain(), s1="swap", s2="drop")
    (residence,) = program.residences
    assert residence.storage == 1
    assert program.steps[residence.needed_by].replay_for == 2


def test_a_compressed_tensor_leaves_after_its_last_use_and_its_compressed_bytes_stay():
    problem = Problem(chain(), UNIT)
    actions = dict.fromkeys(problem.candidates, "keep") | {1: "compress"}
    program = compile_program(problem, actions, ratios={1: 2.5})
    # Step 5 allocates a byte: before it does so the ten bytes are there beside the four.
    assert program.memory.tolist() == [11, 31, 55, 56, 27, 16]
    (residence,) = program.residences
    assert residence == Residence(1, out_after=1, release_after=1, needed_by=5, resident_bytes=4)


def test_a_replay_rebuilds_an_overwritten_version_in_a_scratch_buffer():
    # a is cloned, then overwritten in place and kept; the dropped clone needs a's first version.
    b = TraceBuilder()
    batch = b.existing("input", 1)
    a = b.op("forward", 1, [batch], new=[10])
    clone = b.op("forward", 1, [a], new=[10])
    b.op("forward", 1, [a], in_place=[a])
    out = b.op("forward", 1, [a, clone], new=[1])
    b.op("backward", 1, [out, a, clone, batch], new=[1])
    program = compiled(b.build(), s2="drop")
    replays = [s for s in program.steps if s.replay_for >= 0]
    assert program.scratch == (1,)
    assert replays == [Step(0, (5,), (), 2), Step(1, (2,), (5,), 2)]


def test_a_replay_runs_the_in_place_operators_that_made_the_value():
    # b = f(a); b.relu_(): dropping b replays both, in b's own buffer.
    b = TraceBuilder()
    batch = b.existing("input", 1)
    a = b.op("forward", 1, [batch], new=[10])
    second = b.op("forward", 1, [a], new=[10])
    b.op("forward", 1, [second], in_place=[second])
    g = b.op("backward", 1, [second], new=[1])
    b.op("backward", 1, [g, a, batch], new=[1])
    program = compiled(b.build(), s2="drop")
    assert [s for s in program.steps if s.replay_for >= 0] == [
        Step(1, (2,), (), 2),
        Step(2, (2,), (), 2),
    ]


def test_temporaries_that_were_not_saved_are_recomputed_on_the_way():
    b = TraceBuilder()
    batch = b.existing("input", 1)
    temporary = b.op("forward", 1, [batch], new=[10])
    kept = b.op("forward", 1, [temporary], new=[10])
    b.op("backward", 1, [kept, batch], new=[1])
    program = compiled(b.build(), s2="drop")
    assert [s for s in program.steps if s.replay_for >= 0] == [
        Step(0, (1,), (), 2),
        Step(1, (2,), (1,), 2),
    ]


def test_what_a_replay_recomputed_may_stay_until_its_own_last_use():
    program = compiled(chain(), stays=(1,), s1="drop", s2="drop")
    assert program.steps[4:] == (
        Step(0, (1,), (), 2),
        Step(1, (2,), (), 2),
        Step(4, (5,), (4, 2)),
        Step(5, (6,), (5, 1, 0, 6)),  # a is still there: no second replay
    )
    assert program.memory.tolist() == [11, 31, 51, 32, 12, 32, 33, 13]


def test_what_is_back_in_an_earlier_version_does_not_stay():
    # The replay of the clone needs a before it was overwritten; a itself is replayed for its use.
    b = TraceBuilder()
    batch = b.existing("input", 1)
    a = b.op("forward", 1, [batch], new=[10])
    clone = b.op("forward", 1, [a], new=[10])
    b.op("forward", 1, [a], in_place=[a])
    g = b.op("backward", 1, [clone], new=[1])
    b.op("backward", 1, [g, a, batch], new=[1])
    program = compiled(b.build(), stays=(a, clone), s1="drop", s2="drop")
    replayed = [(s.op, s.replay_for) for s in program.steps if s.replay_for >= 0]
    assert replayed == [(0, clone), (1, clone), (0, a), (2, a)]


@settings(max_examples=300, deadline=None)
@given(traces(), st.randoms(use_true_random=False))
def test_the_program_is_that_of_walking_through_all_operators(trace, random):
    problem = Problem(trace, UNIT)
    costs = ReplayCosts(problem)
    actions = {
        t: random.choice(["keep", "swap", "compress", "drop" if costs.can_drop(t) else "keep"])
        for t in problem.candidates
    }
    stays = [t for t, action in actions.items() if action == "drop" and random.random() < 0.5]
    ratios = {t: 1.3 + t % 3 for t in actions}
    program = compile_program(problem, actions, stays, ratios=ratios)
    steps, scratch, residences, memory = Compiler(problem, actions, stays, ratios).program()
    assert program.steps == steps
    assert program.scratch == scratch
    assert [
        (r.storage, r.out_after, r.release_after, r.needed_by, r.resident_bytes)
        for r in program.residences
    ] == residences
    assert program.memory.tolist() == memory.tolist()

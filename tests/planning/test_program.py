"""Actions become the program that the paper's semantics ask for, step by step."""

from planezip.planning.problem import Problem
from planezip.planning.program import compile_program
from planezip.records import Step
from traces import UNIT, TraceBuilder


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


def compiled(trace, **actions):
    problem = Problem(trace, UNIT)
    chosen = dict.fromkeys(problem.candidates, "keep")
    chosen.update({int(name[1:]): action for name, action in actions.items()})
    return compile_program(problem, chosen)


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

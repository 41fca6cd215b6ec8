"""What the recorder writes down about single operators."""

from collections.abc import Callable

import pytest
import torch

from planezip.records import Op, Storage
from planezip.tracing import Recorder

Recorded = tuple[list[Op], tuple[Storage, ...]]


def record(run: Callable[[], object]) -> Recorded:
    recorder = Recorder()
    with recorder, torch.no_grad():
        run()
    return recorder.ops, recorder.table.records()


def last(run: Callable[[], object]) -> Op:
    return record(run)[0][-1]


def test_a_new_result_is_written_and_arguments_are_read() -> None:
    ops, storages = record(lambda: torch.ones(2) + torch.ones(3, 2))
    assert [op.name.split(".")[1] for op in ops] == ["ones", "ones", "add"]
    assert (ops[2].reads, ops[2].writes) == ((0, 1), (2,))
    assert [(s.producer, s.slot, s.bytes, s.kind) for s in storages] == [
        (0, 0, 8, "activation"),
        (1, 0, 24, "activation"),
        (2, 0, 24, "activation"),
    ]


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.view(4),
        lambda x: x.t(),
        lambda x: x[0],
        lambda x: x.expand(3, 2, 2),
        lambda x: x.unbind(0),
        lambda x: x.split(1),
        lambda x: x.detach(),
        lambda x: torch.ops.aten._unsafe_view(x, [4]),
        lambda x: x.unsqueeze_(0),
        lambda x: x.set_(x.untyped_storage(), 0, (1,)),
        lambda x: x.resize_(1),
        lambda x: x.as_strided_((2,), (1,)),
    ],
)
def test_views_write_nothing(view: Callable[[torch.Tensor], object]) -> None:
    op = last(lambda: view(torch.ones(2, 2)))
    assert op.is_view
    assert op.reads == (0,)


def test_an_in_place_operator_reads_and_writes_one_storage() -> None:
    ops, storages = record(lambda: torch.ones(2).mul_(3.0))
    assert (ops[1].reads, ops[1].writes) == ((0,), (0,))
    assert storages[0].producer == 0


def test_in_place_through_a_view_writes_the_storage() -> None:
    op = last(lambda: torch.ones(2, 2).t()[0].add_(1.0))
    assert (op.reads, op.writes) == ((0,), (0,))


def test_overwriting_all_of_a_storage_does_not_read_it() -> None:
    op = last(lambda: torch.ones(4).zero_())
    assert (op.reads, op.writes) == ((), (0,))


def test_overwriting_a_part_depends_on_the_rest() -> None:
    op = last(lambda: torch.ones(4)[:2].copy_(torch.zeros(2)))
    assert (op.reads, op.writes) == ((0, 1), (0,))


def test_an_out_argument_is_written() -> None:
    x, out = torch.ones(2), torch.ones(2)
    op = last(lambda: torch.mul(x, x, out=out))
    assert (op.reads, op.writes) == ((0,), (1,))


def test_lists_of_tensors_are_followed() -> None:
    a, b, c = torch.ones(2), torch.ones(3), torch.ones(4)
    op = last(lambda: torch._foreach_mul_([a, b, c], 2.0))
    assert (op.reads, op.writes) == ((0, 1, 2), (0, 1, 2))
    ops, storages = record(lambda: torch._foreach_add([a, b], [c[:2], c[:3]]))
    assert (ops[-1].reads, ops[-1].writes) == ((1, 2, 0), (3, 4))
    assert [storages[s].slot for s in ops[-1].writes] == [0, 1]
    assert last(lambda: torch.cat([a, b, c])).reads == (0, 1, 2)


def test_a_fused_optimizer_writes_parameters_and_state() -> None:
    p, g, m = torch.ones(2), torch.ones(2), torch.zeros(2)
    op = last(
        lambda: torch._fused_sgd_(
            [p],
            [g],
            [m],
            weight_decay=0.0,
            momentum=0.9,
            lr=0.1,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
        )
    )
    assert set(op.writes) == {0, 1, 2}


def test_slots_count_all_results_also_those_that_are_none() -> None:
    x, w = torch.ones(1, 1, 4, 4), torch.ones(2, 1, 3, 3)
    grad = torch.ones(1, 2, 2, 2)
    ops, storages = record(
        lambda: torch.ops.aten.convolution_backward(
            grad, x, w, [2], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, True, True]
        )
    )
    assert [storages[s].slot for s in ops[0].writes] == [1, 2]


def test_what_an_operator_only_looks_at_the_shape_of_is_not_read() -> None:
    x = torch.ones(2)
    for run in (torch.ones_like, torch.empty_like, lambda x: x.new_zeros(3)):
        assert last(lambda run=run: run(x)).reads == ()


def test_growing_a_storage_writes_it() -> None:
    ops, storages = record(lambda: torch.ones(2).resize_(100))
    assert ops[-1].writes == (0,)
    assert storages[0].bytes == 400


@pytest.mark.parametrize(
    ("run", "random"),
    [
        (lambda: torch.rand(3), True),
        (lambda: torch.native_dropout(torch.ones(3), 0.5, True), True),
        (lambda: torch.ones(3).normal_(), True),
        (lambda: torch.ones(3) + 1, False),
    ],
)
def test_random_operators_are_marked(run: Callable[[], object], random: bool) -> None:
    assert last(run).random is random


def test_storages_that_died_keep_their_ids() -> None:
    def many() -> None:
        for _ in range(50):
            torch.ones(8).add(1.0)

    ops, storages = record(many)
    assert len(storages) == 100
    assert all(op.writes == (op.index,) for op in ops)
    assert [s.producer for s in storages] == list(range(100))


def test_marks_of_the_profiler_are_no_operators() -> None:
    def run() -> None:
        with torch.profiler.record_function("mark"):
            torch.ones(2)

    assert [op.name for op in record(run)[0]] == ["aten.ones.default"]

"""Bytes touched: zero-stride dimensions once, in-place twice, what is overwritten once."""

from typing import Any

import pytest
import torch

from planezip.records import Op
from planezip.tracing import Recorder
from planezip.tracing.footprint import covers_storage, touched_bytes


def ops_of(run: Any) -> list[Op]:
    recorder = Recorder()
    with recorder, torch.no_grad():
        run()
    return recorder.ops


def traffic(run: Any) -> tuple[int, int]:
    (op,) = (op for op in ops_of(run) if not op.is_view)
    return op.fp32_bytes, op.other_bytes


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (torch.zeros(3, 4), 48),
        (torch.zeros(3, 1).expand(3, 4), 12),
        (torch.zeros(()).expand(1000, 1000), 4),
        (torch.zeros(4, 4)[:, :2], 32),
        (torch.zeros(10).unfold(0, 5, 1), 40),
        (torch.zeros(0, 7), 0),
        (torch.zeros(0, 1).expand(0, 5), 0),
        (torch.zeros(5, dtype=torch.int64), 40),
    ],
    ids=["dense", "expanded", "scalar", "slice", "overlapping", "empty", "none", "int64"],
)
def test_touched_bytes(tensor: torch.Tensor, expected: int) -> None:
    assert touched_bytes(tensor) == expected


def test_covering_a_storage() -> None:
    a = torch.zeros(4, 4)
    assert covers_storage(a.t())
    assert not covers_storage(a[1:])


A, B = torch.ones(8), torch.ones(8)
INDEX = torch.tensor([1, 2])


@pytest.mark.parametrize(
    ("run", "fp32", "other"),
    [
        (lambda: A + B, 96, 0),
        (lambda: A + A, 64, 0),
        (lambda: A.add_(B), 96, 0),
        (A.relu_, 64, 0),
        (lambda: torch.add(A, B, out=torch.ones(8)), 96, 0),
        (lambda: A.copy_(B), 64, 0),
        (A[:4].zero_, 16, 0),
        (lambda: A > 0, 32, 8),
        (lambda: A.to(torch.bfloat16), 32, 16),
        (lambda: torch.ones_like(A), 32, 0),
        (lambda: torch.empty_like(A), 0, 0),
        (lambda: torch.empty(1000), 0, 0),
        (lambda: torch.zeros(1000), 4000, 0),
        (lambda: torch.embedding(torch.ones(1000, 4), INDEX), 2 * 32, 16),
        (lambda: torch._foreach_add_([A, B], 1.0), 128, 0),
        (lambda: torch._foreach_add_([A, B], [B, A]), 128, 0),
    ],
)
def test_traffic(run: Any, fp32: int, other: int) -> None:
    ops = [op for op in ops_of(run) if not op.is_view]
    assert (ops[-1].fp32_bytes, ops[-1].other_bytes) == (fp32, other)


def test_a_view_has_no_traffic() -> None:
    ops = ops_of(lambda: A.view(2, 4).t())
    assert [(op.fp32_bytes, op.other_bytes, op.is_view) for op in ops] == [(0, 0, True)] * 2

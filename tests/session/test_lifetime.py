"""A session begins, is interrupted, closed, copied and nested, and says what it could not do."""

import gc
import pickle
from copy import deepcopy

import pytest
import torch
from torch import nn

from execution.training import same_bits
from planezip import InputError, Session


def test_a_pass_that_cannot_begin_leaves_nothing_behind() -> None:
    model = nn.Linear(4, 4)
    session = Session(model, "1GiB")
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        for _ in range(2):
            with pytest.raises(RuntimeError, match="not here"):
                session.__enter__()
    assert torch._C._len_torch_dispatch_stack() == 0
    session.close()


def test_an_attached_model_can_be_interrupted_pickled_and_copied() -> None:
    class Interrupted(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise KeyboardInterrupt

    model = Interrupted(4, 4)
    session = Session(model, "1GiB").attach()
    with pytest.raises(KeyboardInterrupt):
        model(torch.ones(1, 4))
    session.close()
    assert torch._C._len_torch_dispatch_stack() == 0
    nn.Linear(4, 4)(torch.ones(1, 4)).sin().sum().backward()

    other = nn.Sequential(nn.Linear(4, 4))
    session = Session(other, "1GiB", leave_alone=other[0]).attach()
    for copied in (pickle.loads(pickle.dumps(other)), deepcopy(other)):
        assert same_bits(copied(torch.ones(1, 4)), other(torch.ones(1, 4)))
    session.close()


def test_a_closed_session_says_so() -> None:
    model = nn.Linear(64, 64)
    session = Session(model, "1GiB", min_bytes=0)
    with session:
        loss = model(torch.ones(64, 64)).sin().sum()
    session.close()
    with pytest.raises(RuntimeError, match="closed before backward"):
        loss.backward()
    with pytest.raises(InputError, match="session is closed"):
        session.__enter__()


def test_a_session_inside_itself_is_one_pass() -> None:
    model = nn.Linear(64, 64)
    session = Session(model, "1GiB", min_bytes=0).attach()
    for _ in range(4):
        model.zero_grad()
        with session, session:
            loss = model(torch.ones(64, 64)).sin().sum()
        loss.backward()
    assert session.report().passes == {"profiled": 2, "planned": 2}
    session.close()


def test_backward_inside_the_session_is_told() -> None:
    model = nn.Linear(64, 64)
    session = Session(model, "1GiB", min_bytes=0)
    with session:
        model(torch.ones(64, 64)).sin().sum().backward()
    assert "1 unplanned, since backward began inside" in str(session.report())
    session.close()


def test_attaching_works_while_another_error_is_handled() -> None:
    model = nn.Linear(64, 64)
    session = Session(model, "1GiB", min_bytes=0).attach()
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:
        for _ in range(3):
            model.zero_grad()
            model(torch.ones(64, 64)).sin().sum().backward()
    assert session.report().passes == {"profiled": 2, "planned": 1}
    session.close()


def test_the_report_of_a_lazy_model_can_be_read() -> None:
    session = Session(nn.Sequential(nn.LazyLinear(4)), "1GiB")
    assert "no plan yet" in str(session.report())
    session.close()


def test_memory_returns_where_a_tensor_from_outside_depends_on_the_pass() -> None:
    model = nn.Linear(64, 64)
    session = Session(model, "1GiB", min_bytes=0)
    x = torch.ones(512, 64)
    for _ in range(4):
        with session:
            a = model(x).sin()
        b = a * 2
        with session:
            c = model(b).sin().sum()
        del a, b, c
    gc.collect()
    assert session._pool.used_bytes == 0
    session.close()

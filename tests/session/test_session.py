"""What a user of a session is promised, besides the bits."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import planezip
from execution.training import Forced
from planezip import InputError, OverBudgetError, Session
from session.tracker import Tracker


def _network() -> nn.Module:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for _ in range(6):
        layers += [nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()]
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), *layers, nn.Flatten(), nn.LazyLinear(4))


@pytest.fixture
def model() -> nn.Module:
    network = _network()
    network(torch.zeros(2, 3, 16, 16))
    return network


def _train(model: nn.Module, session: Session | None, steps: int = 5) -> list[int]:
    """Peak activation memory of every step, parameters and their gradients left out."""
    torch.manual_seed(1)
    x, y = torch.randn(16, 3, 16, 16), torch.randint(0, 4, (16,))
    peaks = []
    for _ in range(steps):
        model.zero_grad()
        with Tracker(model) as tracker:
            if session is None:
                loss = F.cross_entropy(model(x), y)
            else:
                with session:
                    loss = F.cross_entropy(model(x), y)
            loss.backward()
        peaks.append(tracker.peak_bytes())
    return peaks


@pytest.mark.parametrize("ratio", [0.9, 0.7, 0.5])
def test_the_budget_holds_in_both_passes(model: nn.Module, ratio: float) -> None:
    plain = _train(model, None)[-1]
    session = Session(model, budget_ratio=ratio)
    peaks = _train(model, session)
    report = session.report()
    assert report.budget_bytes is not None
    assert report.budget_bytes <= ratio * plain * 1.01
    assert max(peaks) <= report.budget_bytes
    assert report.measured_peak_bytes is not None
    assert report.measured_peak_bytes <= report.budget_bytes
    session.close()


def test_a_larger_budget_is_used_and_never_exceeded(model: nn.Module) -> None:
    for ratio in (0.5, 0.6, 0.8, 1.0):
        session = Session(model, budget_ratio=ratio)
        peak = max(_train(model, session)[2:])
        budget = session.report().budget_bytes
        assert budget is not None
        assert peak <= budget + 4  # the gradient of the loss by itself, which backward() makes
        session.close()


def test_a_budget_that_no_plan_fits_is_refused_with_the_smallest_that_does(
    model: nn.Module,
) -> None:
    session = Session(model, budget="16KiB")
    with pytest.raises(OverBudgetError) as refusal:
        _train(model, session)
    smallest = refusal.value.smallest_feasible_bytes
    assert smallest > 16384
    session.close()
    session = Session(model, budget=round(smallest * 1.05))
    assert max(_train(model, session)[2:]) <= smallest * 1.05
    session.close()


def test_of_modules_left_alone_nothing_is_evicted(model: nn.Module) -> None:
    session = Session(model, budget_ratio=0.7, leave_alone=[model])
    with pytest.raises(OverBudgetError):
        _train(model, session)
    session.close()


def test_keep_outside_of_a_session_does_nothing() -> None:
    x = torch.ones(3)
    assert planezip.keep(x) is x


def test_a_kept_tensor_is_not_evicted() -> None:
    linear = nn.Linear(64, 64)
    session = Forced(linear, "swap")
    for _ in range(4):
        with session:
            loss = planezip.keep(linear(torch.ones(64, 64))).sin().exp().sum()
        loss.backward()
    assert session.report().actions["swap"][0] == 2  # what exp returned, and the batch
    session.close()


def test_a_session_that_is_switched_off_leaves_training_alone(model: nn.Module) -> None:
    session = Session(model, budget="1KiB", enabled=False)
    _train(model, session)
    assert not session.report().passes
    session.close()


def test_where_the_pool_is_too_small_the_plan_does_without(model: nn.Module) -> None:
    session = Session(model, budget_ratio=0.7, host_pool=0)
    peaks = _train(model, session)
    report = session.report()
    assert report.pool_peak_bytes == 0
    assert "swap" not in report.actions
    assert "drop" in report.actions or "compress" in report.actions
    assert report.budget_bytes is not None
    assert max(peaks[2:]) <= report.budget_bytes
    session.close()


def test_the_report_says_what_lies_outside(model: nn.Module) -> None:
    session = Session(model, budget_ratio=0.7)
    assert "parameters and buffers" in str(session.report())
    _train(model, session)
    text = str(session.report())
    assert "of parameters and buffers, their gradients, the optimizer's state" in text
    assert "2 profiled" in text
    session.close()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "give either budget"),
        ({"budget": "1GiB", "budget_ratio": 0.5}, "give either budget"),
        ({"budget": "lots"}, "'lots' is not a size"),
        ({"budget": -1}, "-1 is not a size"),
        ({"budget": True}, "True is not a size"),
        ({"budget_ratio": 0.0}, "budget_ratio is 0.0"),
        ({"budget_ratio": 1.5}, "budget_ratio is 1.5"),
        ({"budget_ratio": "half"}, "budget_ratio is 'half'"),
        ({"budget_ratio": float("nan")}, "budget_ratio is nan"),
        ({"budget": 1, "workers": 0}, "workers is 0"),
        ({"budget": 1, "spill": "no/such"}, "'no/such' is no folder"),
        ({"budget": 1, "leave_alone": ["x"]}, "leave_alone holds a str"),
        ({"budget": 1, "min_bytes": "x"}, "'x' is not a size"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Session(nn.Linear(1, 1), **arguments)  # type: ignore[arg-type]


def test_what_is_no_model_is_named() -> None:
    with pytest.raises(InputError, match="model is of type int"):
        Session(3, budget=1)  # type: ignore[arg-type]

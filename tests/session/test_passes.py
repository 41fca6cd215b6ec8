"""Several forward passes, several backward passes, several plans: what one budget covers."""

import gc
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from execution.training import same_bits
from planezip import OverBudgetError, Session
from planezip.execution.journal import Journal
from session.tracker import Tracker


def _model() -> nn.Module:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for _ in range(5):
        layers += [nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()]
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), *layers, nn.Flatten(), nn.Linear(2048, 4))


@cache
def _batch(size: int = 16) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(size, 3, 16, 16, generator=generator), torch.arange(size) % 4


Iteration = Callable[[nn.Module, Session], None]


def _loss(model: nn.Module, session: Session, size: int = 16) -> torch.Tensor:
    x, y = _batch(size)
    with session:
        return F.cross_entropy(model(x), y)


def _together(model: nn.Module, session: Session) -> None:
    (_loss(model, session) + _loss(model, session)).backward()


def _in_turn(model: nn.Module, session: Session) -> None:
    first, second = _loss(model, session), _loss(model, session)
    first.backward()
    second.backward()


def _in_reverse(model: nn.Module, session: Session) -> None:
    first, second = _loss(model, session), _loss(model, session)
    second.backward()
    first.backward()


def _run(
    iteration: Iteration, steps: int, **limits: object
) -> tuple[list[int], list[torch.Tensor | None], Session]:
    """Peaks, last gradients, and the session, which is closed."""
    model = _model()
    session = Session(model, **limits)  # type: ignore[arg-type]
    peaks = []
    for _ in range(steps):
        model.zero_grad()
        with Tracker(model) as tracker:
            iteration(model, session)
        peaks.append(tracker.peak_bytes())
    session.close()
    return peaks, [p.grad for p in model.parameters()], session


@pytest.mark.parametrize("iteration", [_together, _in_turn, _in_reverse])
@pytest.mark.parametrize("ratio", [0.7, 0.5])
def test_passes_before_a_backward_pass_share_one_budget(iteration: Iteration, ratio: float) -> None:
    plain_peaks, plain, _ = _run(iteration, 5, budget=1, enabled=False)
    peaks, gradients, session = _run(iteration, 5, budget_ratio=ratio)
    assert same_bits(gradients, plain)
    budget = session.report().budget_bytes
    assert budget is not None
    assert budget <= ratio * plain_peaks[-1] * 1.01
    assert max(peaks[2:]) <= budget
    assert session.report().sequences == 1


def test_a_pass_that_comes_alone_after_pairs_keeps_to_the_budget() -> None:
    calls = iter([_together] * 4 + [lambda m, s: _loss(m, s).backward()] * 3 + [_together] * 3)

    def iteration(model: nn.Module, session: Session) -> None:
        next(calls)(model, session)  # type: ignore[operator]

    peaks, _, session = _run(iteration, 10, budget="2.2MB")
    assert max(peaks[2:]) <= 2_200_000
    assert session.report().passes["planned"] >= 9


def test_a_last_batch_of_another_size_has_a_plan_from_its_second_time_on() -> None:
    sizes = iter([16, 16, 16, 16, 12, 16, 16, 12, 16])

    def iteration(model: nn.Module, session: Session) -> None:
        _loss(model, session, next(sizes)).backward()

    peaks, _, session = _run(iteration, 9, budget_ratio=0.6)
    report = session.report()
    assert report.sequences == 2
    assert report.passes == {"profiled": 3, "planned": 6}
    assert report.budget_bytes is not None
    assert max(peaks[2:]) <= report.budget_bytes


def test_batches_that_are_slices_of_one_tensor_share_a_plan() -> None:
    data = torch.randn(64, 3, 16, 16)
    model = _model()
    session = Session(model, budget_ratio=0.6)
    for start in range(0, 64, 8):
        x, y = data[start : start + 8], torch.arange(8) % 4
        model.zero_grad()
        F.cross_entropy(model(x), y).backward()
        plain = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        with session:
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        assert same_bits([p.grad for p in model.parameters()], plain)
    assert session.report().passes == {"profiled": 2, "planned": 6}
    session.close()


def test_passes_that_alternate_from_the_middle_on_get_plans_of_their_own() -> None:
    turn = iter(range(20))

    def iteration(model: nn.Module, session: Session) -> None:
        x, y = _batch()
        with session:
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            if next(turn) % 2:
                loss = loss + logits.square().mean().sqrt()
        loss.backward()

    _, _, session = _run(iteration, 14, budget_ratio=0.6)
    report = session.report()
    assert report.sequences == 2
    assert report.passes["planned"] >= 6


def test_a_budget_is_refused_in_the_first_backward_pass_before_a_weight_can_change() -> None:
    model = _model()
    session = Session(model, budget="100KB")
    loss = _loss(model, session)
    with pytest.raises(OverBudgetError, match="smallest"):
        loss.backward()
    with pytest.raises(OverBudgetError), session:
        pass
    session.close()


def test_a_pass_that_is_never_followed_by_backward_is_not_part_of_the_next() -> None:
    def iteration(model: nn.Module, session: Session) -> None:
        _loss(model, session)
        _loss(model, session).backward()

    _, _, session = _run(iteration, 5, budget_ratio=0.6)
    assert session.report().sequences == 1
    assert len(session._sequences.known[0].sequence.ops) < 60


def test_outputs_that_outlive_their_backward_pass_do_not_keep_it_from_being_planned() -> None:
    model = _model()
    session = Session(model, budget_ratio=0.6)
    x, y = _batch()
    for _ in range(5):
        model.zero_grad()
        with Tracker(model) as tracker, session:
            logits = model(x)
            loss, unused = F.cross_entropy(logits, y), logits.exp().square().sum()
        with tracker:
            loss.backward()
    assert unused.grad_fn is not None
    report = session.report()
    assert report.passes == {"profiled": 2, "planned": 3}
    assert report.budget_bytes is not None
    assert tracker.peak_bytes() <= report.budget_bytes
    session.close()


def test_a_backward_pass_of_something_else_is_not_taken_for_the_sessions() -> None:
    model, other = _model(), nn.Linear(8, 8)
    session = Session(model, budget_ratio=0.6)
    for _ in range(5):
        model.zero_grad()
        loss = _loss(model, session)
        other(torch.ones(4, 8)).sum().backward()
        loss.backward()
    assert session.report().passes == {"profiled": 2, "planned": 3}
    session.close()


def test_a_model_that_raises_in_a_session_that_is_attached_trains_on() -> None:
    class Raising(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.fails = _model(), False

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.inner(x)
            if self.fails:
                raise ZeroDivisionError
            return y

    model = Raising()
    session = Session(model, budget_ratio=0.6)
    session.attach()
    x, y = _batch()
    for step in range(6):
        model.fails = step in (1, 4)
        model.zero_grad()
        with nullcontext() if not model.fails else pytest.raises(ZeroDivisionError):
            F.cross_entropy(model(x), y).backward()
        gc.collect()  # pytest keeps the traceback, and that the tensors
        assert session._pool.used_bytes == 0
    assert session.report().passes == {"profiled": 2, "planned": 2}
    session.close()


def test_models_that_are_trained_together_share_one_session() -> None:
    models = nn.ModuleList([_model(), _model()])
    session = Session(models, budget_ratio=0.6)
    for _ in range(5):
        models.zero_grad()
        with Tracker(models) as tracker:
            (_loss(models[0], session) + _loss(models[1], session)).backward()
    report = session.report()
    assert report.passes == {"profiled": 4, "planned": 6}  # two passes an iteration
    assert report.budget_bytes is not None
    assert tracker.peak_bytes() <= report.budget_bytes
    assert same_bits(*([p.grad for p in m.parameters()] for m in models))
    session.close()


def test_a_full_pool_is_planned_with_what_stays_in_device_memory() -> None:
    limits = {"budget_ratio": 0.6, "host_pool": "400KB", "recompute": False}
    peaks, gradients, session = _run(lambda m, s: _loss(m, s).backward(), 5, **limits)
    _, plain, _ = _run(lambda m, s: _loss(m, s).backward(), 5, budget=1, enabled=False)
    report = session.report()
    assert same_bits(gradients, plain)
    assert report.actions["compress"][0] > 0
    assert 0 < report.pool_peak_bytes <= 400_000
    assert report.budget_bytes is not None
    assert max(peaks[2:]) <= report.budget_bytes
    assert report.measured_peak_bytes is not None
    assert report.measured_peak_bytes <= report.budget_bytes


def test_a_plan_that_takes_more_than_the_budget_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = Journal.peak_bytes.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(Journal, "peak_bytes", property(lambda journal: real(journal) + 100_000))
    peaks, _, session = _run(lambda m, s: _loss(m, s).backward(), 8, budget_ratio=0.7)
    budget = session.report().budget_bytes
    assert budget is not None
    assert max(peaks[-2:]) <= budget - 100_000


def test_nothing_is_recomputed_where_that_is_not_wanted() -> None:
    _, _, session = _run(lambda m, s: _loss(m, s).backward(), 4, budget_ratio=0.6, recompute=False)
    report = session.report()
    assert "drop" not in report.actions
    assert report.actions["swap"][0] > 0


def test_gradients_that_accumulate_have_a_plan_of_their_own() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.Sigmoid())
    session = Session(model, budget_ratio=0.9, min_bytes=0)
    x = torch.randn(64, 64)
    for step in range(14):
        if step % 2 == 0:
            model.zero_grad()
        with Tracker(model) as tracker, session:
            loss = model(x).square().sum()
        with tracker:
            loss.backward()
    assert session.report().sequences == 2
    assert session.report().passes["planned"] >= 6
    budget = session.report().budget_bytes
    assert budget is not None
    assert tracker.peak_bytes() <= budget + 4
    session.close()


def test_recurrent_layers_keep_to_the_budget() -> None:
    torch.manual_seed(0)
    model = nn.GRU(32, 64)
    x = torch.randn(12, 64, 32)
    session = Session(model, budget_ratio=0.8, min_bytes=0)
    for _ in range(5):
        model.zero_grad()
        with session:
            loss = model(x)[0].square().sum()
        loss.backward()
    report = session.report()
    assert report.budget_bytes is not None
    assert report.measured_peak_bytes is not None
    assert report.measured_peak_bytes <= report.budget_bytes
    session.close()


def test_a_training_with_retained_graphs_keeps_to_the_budget() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(4)))
    session = Session(model, budget_ratio=0.8, min_bytes=0)
    x = torch.randn(256, 64)
    for _ in range(8):
        model.zero_grad()
        with Tracker(model) as tracker, session:
            loss = F.mse_loss(model(x), x)
        with tracker:
            loss.backward(retain_graph=True)
            loss.backward()
    budget = session.report().budget_bytes
    assert budget is not None
    assert session.report().passes["planned"] >= 3
    assert tracker.peak_bytes() <= budget + 4
    session.close()

"""What writes where nobody expects it, is saved twice, or has no storage of its own."""

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from torch import nn

from execution.training import WAYS, Forced, check, linear, same_bits
from planezip import Session, keep

Loss = Callable[[int], torch.Tensor]


def test_an_argument_that_is_filled_after_it_was_saved(actions: tuple[str, ...]) -> None:
    rrelu = nn.RReLU()
    check(linear(lambda h: rrelu(h.sin()).exp()), actions)


def test_a_result_that_is_thrown_away_and_what_it_saved(actions: tuple[str, ...]) -> None:
    def compute(h: torch.Tensor) -> torch.Tensor:
        y = h.exp().clamp(max=9)
        y.sin()  # saves y, and lets go of it
        return y.cos() * y

    check(linear(compute), actions)


def test_packed_sequences(actions: tuple[str, ...]) -> None:
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.gru = nn.Embedding(20, 16), nn.GRU(16, 16, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            lengths = torch.tensor([3, 5, 2, 4])
            packed = nn.utils.rnn.pack_padded_sequence(
                self.embed(x), lengths, batch_first=True, enforce_sorted=False
            )
            y, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)
            return y.sin()

    def make() -> tuple[nn.Module, Loss]:
        model = Reader()
        x = torch.randint(0, 20, (3, 4, 5))
        return model, lambda step: model(x[step]).square().mean()

    check(make, actions)


def test_data_that_is_written_behind_autograds_back_inside_the_pass(
    actions: tuple[str, ...],
) -> None:
    def compute(h: torch.Tensor) -> torch.Tensor:
        y = h.exp().clamp(max=9)
        z = y.exp()
        z.data.mul_(0.5)
        return z + y.sin()

    check(linear(compute), actions)


def test_storage_that_is_resized(actions: tuple[str, ...]) -> None:
    def compute(h: torch.Tensor) -> torch.Tensor:
        y = torch.zeros(1, 32)
        y.resize_(16, 32)
        y.fill_(0.5)
        return (h + y).exp().sigmoid().tanh() * (y + 1).sin()

    check(linear(compute), actions)


def test_batch_norm_in_evaluation_whose_statistics_change_before_backward() -> None:
    torch.manual_seed(0)
    norm = nn.BatchNorm1d(8)
    model = nn.Sequential(nn.Linear(8, 8), norm, nn.Linear(8, 8))
    x = torch.randn(16, 8)
    start = deepcopy(model.state_dict())

    def gradients(session: Session | None) -> list[torch.Tensor | None]:
        model.load_state_dict(deepcopy(start))
        model.zero_grad()
        norm.eval()
        with session or torch.enable_grad():
            loss = model[2](norm(model[0](x)).sin()).square().mean()
        norm.train()
        with torch.no_grad():
            norm(x * 5)
        loss.backward()
        return [None if p.grad is None else p.grad.clone() for p in model.parameters()]

    plain = gradients(None)
    for chosen in WAYS.values():
        session = Forced(model, *chosen)
        for _ in range(5):
            assert same_bits(gradients(session), plain)
        session.close()


class _Halving(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(y)
        return y * 2

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        (y,) = ctx.saved_tensors
        y.mul_(0.5)
        return gradient


def test_a_backward_that_writes_what_was_saved_raises_torchs_error_as_it_does_plainly() -> None:
    model = nn.Linear(8, 8)
    x = torch.ones(4, 8)

    def loss() -> torch.Tensor:
        return _Halving.apply(model(x).exp()).sum()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss().backward()
    for chosen in WAYS.values():
        session = Forced(model, *chosen)
        for _ in range(4):
            with session:
                value = loss()
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                value.backward()
        session.close()


def test_a_pass_that_leaves_its_plan_before_a_source_is_saved() -> None:
    def make() -> tuple[nn.Module, Loss]:
        turn = iter(range(20))
        model = nn.Linear(32, 32)
        x = torch.randn(16, 32)

        def loss(_: int) -> torch.Tensor:
            h = model(x)
            b = h.sin().mul_(2).add_(1)
            w = (b + 1).exp().clamp(max=9)
            return w.mean() + (b.sin().mean() if next(turn) < 4 else b.mean())

        return model, loss

    for way in ("drop", "drop two of three"):
        check(make, WAYS[way])


@pytest.mark.parametrize("draw", ["poisson", "binomial"])
def test_generators_given_by_position_are_advanced_once(draw: str) -> None:
    def states(session_of: Callable[[nn.Module], Session] | None) -> list[torch.Tensor]:
        torch.manual_seed(0)
        generator = torch.Generator().manual_seed(3)
        model = nn.Linear(32, 32)
        session = session_of(model) if session_of else None
        x, found = torch.rand(16, 32), []
        for _ in range(5):
            model.zero_grad()
            with session or torch.enable_grad():
                drawn = (
                    torch.poisson(x, generator)
                    if draw == "poisson"
                    else torch.binomial(torch.full_like(x, 4), x, generator)
                )
                loss = (model(x).sin() * drawn).exp().sum()
            del drawn
            loss.backward()
            assert model.weight.grad is not None
            found += [generator.get_state(), model.weight.grad.clone()]
        return found

    for chosen in WAYS.values():
        assert same_bits(states(None), states(lambda m, c=chosen: Forced(m, *c)))  # type: ignore[misc]


def test_sparse_gradients_are_those_of_plain_training() -> None:
    def gradients(session_of: Callable[[nn.Module], Session] | None) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(50, 64, sparse=True), nn.Linear(64, 8))
        session = session_of(model) if session_of else None
        found = []
        for _ in range(5):
            model.zero_grad()
            with session or torch.enable_grad():
                loss = model(torch.arange(40)).sin().square().sum()
            loss.backward()
            gradient = model[0].weight.grad
            found += [gradient._indices().clone(), gradient._values().clone()]
        return found

    plain = gradients(None)
    assert same_bits(gradients(lambda m: Forced(m, "drop", "swap")), plain)
    assert same_bits(gradients(lambda m: Session(m, budget_ratio=1.0, min_bytes=0)), plain)


def test_inference_tensors_pass_through(actions: tuple[str, ...]) -> None:
    with torch.inference_mode():
        z = torch.rand(16, 32)
    check(linear(lambda h: (h.sin() + z).exp() * z.clone()), actions)


def test_higher_order_operators_pass_through() -> None:
    def compute(h: torch.Tensor) -> torch.Tensor:
        y = torch.cond(h.sum() > 1e9, lambda t: t.sin(), lambda t: t.cos(), (h,))
        return y.exp()

    model = nn.Linear(32, 32)
    x = torch.randn(16, 32)
    with torch.no_grad():
        plain = compute(model(x))
        with Session(model, "1GiB"):
            pass
    session = Session(model, "1GiB")
    with session:
        assert same_bits(compute(model(x).detach()), plain)
    session.close()


def test_keep_holds_what_its_own_operator_has_saved_already() -> None:
    model = nn.Linear(64, 64)
    session = Forced(model, "swap")
    for _ in range(5):
        with session:
            hidden = keep(model(torch.ones(64, 64)).exp())
            loss = (hidden * 2).sum()
        del hidden
        loss.backward()
    assert session.report().actions.get("swap", (0, 0))[0] <= 1  # the batch
    session.close()


def test_settings_of_determinism_are_left_as_they_were() -> None:
    model = nn.Linear(32, 32)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        session = Forced(model, "drop")
        for _ in range(5):
            torch._C._set_mkldnn_enabled(False)  # so that replays change settings and put them back
            with session:
                loss = model(torch.ones(16, 32)).exp().sigmoid().tanh().sum()
            torch._C._set_mkldnn_enabled(True)
            loss.backward()
            assert torch.is_deterministic_algorithms_warn_only_enabled()
        session.close()
    finally:
        torch.use_deterministic_algorithms(False)

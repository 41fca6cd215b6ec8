"""What an operator runs under is what it is repeated under, and nothing of it is left changed."""

from collections.abc import Callable

import torch
from torch import nn

from execution.training import WAYS, Forced, check, linear, same_bits

Loss = Callable[[int], torch.Tensor]


def test_dropout_that_is_recomputed_draws_the_same_mask(actions: tuple[str, ...]) -> None:
    drop = nn.Dropout(0.3)
    check(linear(lambda h: drop(drop(h.sin()).exp()).cos()), actions)


def test_a_generator_of_ones_own_is_left_as_plain_training_leaves_it(
    actions: tuple[str, ...],
) -> None:
    def states(session_of: Callable[[nn.Module], Forced] | None) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(3)
        torch.manual_seed(0)
        model = nn.Linear(32, 32)
        session = session_of(model) if session_of else None
        x, found = torch.randn(16, 32), []
        for _ in range(5):
            model.zero_grad()
            if session is None:
                noise = torch.rand(16, 32, generator=generator)
                loss = (model(x).sin() * noise).exp().sum()
            else:
                with session:
                    noise = torch.rand(16, 32, generator=generator)
                    loss = (model(x).sin() * noise).exp().sum()
            del noise
            loss.backward()
            assert model.weight.grad is not None
            found += [generator.get_state(), torch.get_rng_state(), model.weight.grad.clone()]
        return found

    assert same_bits(states(None), states(lambda model: Forced(model, *actions)))


def test_autocast_is_that_of_the_forward_pass(actions: tuple[str, ...]) -> None:
    def compute(h: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            y = (h.sin() @ h.t()).relu()
            with torch.autocast("cpu", enabled=False):
                z = (h.cos() @ h.t()).exp().clamp(max=9)
        return y.float() + z

    check(linear(compute), actions)


def test_backward_under_other_settings_than_forward_gives_the_same_bits() -> None:
    torch.manual_seed(0)
    model = nn.Linear(32, 32)
    x = torch.randn(16, 32)

    def loss() -> torch.Tensor:
        return (model(x).sin() @ model(x).cos().t()).exp().clamp(max=9).sum()

    def gradients(value: torch.Tensor) -> list[torch.Tensor | None]:
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16), torch.inference_mode(False):
            torch.set_default_dtype(torch.float64)
            try:
                value.backward()
            finally:
                torch.set_default_dtype(torch.float32)
        return [None if p.grad is None else p.grad.clone() for p in model.parameters()]

    plain = gradients(loss())
    session = Forced(model, "drop")
    for _ in range(5):
        with session:
            value = loss()
        assert same_bits(gradients(value), plain)
    assert session.report().actions["drop"][0] > 3
    session.close()


def test_the_default_dtype_is_that_of_the_forward_pass() -> None:
    def compute(h: torch.Tensor) -> torch.Tensor:
        return (h.sin() * torch.ones(32)).exp() * torch.arange(0, 1, 1 / 32)

    def make() -> tuple[nn.Module, Loss]:
        model, loss = linear(compute)()

        def with_doubles(step: int) -> torch.Tensor:
            torch.set_default_dtype(torch.float64)
            try:
                return loss(step)
            finally:
                torch.set_default_dtype(torch.float32)

        return model, with_doubles

    check(make, WAYS["drop"])
    assert torch.get_default_dtype() is torch.float32


def test_grad_mode_is_that_of_the_forward_pass(actions: tuple[str, ...]) -> None:
    def compute(h: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            scale = h.sin().exp()
        return (h.cos() * scale).exp()

    check(linear(compute), actions)


def test_statistics_and_counters_are_advanced_once(actions: tuple[str, ...]) -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8, momentum=None), nn.ReLU())
            self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
            self.register_buffer("mean", torch.zeros(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            y = self.inner(x).sin()
            self.mean.mul_(0.9).add_(y.detach().mean(0), alpha=0.1)
            return (y - self.mean).exp() / self.calls

    def make() -> tuple[nn.Module, Loss]:
        model = Counting()
        x = torch.randn(3, 16, 8)
        return model, lambda step: model(x[step]).mean()

    check(make, actions)


def test_the_payload_of_nan_survives(actions: tuple[str, ...]) -> None:
    payload = torch.tensor([0x7FC12345, -0x3EDCBB], dtype=torch.int32).view(torch.float32)

    def compute(h: torch.Tensor) -> torch.Tensor:
        noisy = (
            h.sin()
            .masked_fill(h > 0.5, payload[0].item())
            .index_fill(1, torch.tensor([3]), float("nan"))
        )
        bits = (noisy.detach().clone().view(torch.int32) | 0x12345).view(torch.float32)
        return torch.nan_to_num(h * bits.cos()) + torch.nan_to_num(noisy.exp())

    check(linear(compute), actions)


def test_save_on_cpu_around_the_session_is_not_in_its_way() -> None:
    torch.manual_seed(0)
    model = nn.Linear(8, 8)
    x = torch.ones(4, 8)

    def gradients(loss: torch.Tensor) -> list[torch.Tensor | None]:
        model.zero_grad()
        loss.backward()
        return [None if p.grad is None else p.grad.clone() for p in model.parameters()]

    plain = gradients(model(x).sin().exp().sum())
    session = Forced(model, "drop", "swap")
    for _ in range(5):
        with torch.autograd.graph.save_on_cpu(), session:
            loss = model(x).sin().exp().sum()
        assert same_bits(gradients(loss), plain)
    session.close()


@torch.library.custom_op("users_own::scaled", mutates_args=())
def _scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


_scaled.register_autograd(
    lambda ctx, gradient: (gradient * ctx.factor, None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
)


def test_operators_that_are_not_torchs_own_are_never_repeated(actions: tuple[str, ...]) -> None:
    check(linear(lambda h: _scaled(h.sin(), 1.5).exp().cos()), actions)
    model = nn.Linear(32, 32)
    session = Forced(model, "drop")
    for _ in range(4):
        with session:
            loss = _scaled(model(torch.ones(16, 32)), 1.5).exp().sum()
        loss.backward()
    schedule = session._sequences.known[0].schedule
    dropped = [v for v, action in schedule.actions.items() if action == "drop"]
    foreign = [op.made for op in schedule.sequence.ops if op.func.namespace == "users_own"]
    assert foreign
    assert not {v for made in foreign for v in made} & set(dropped)
    session.close()


def test_another_number_of_threads_gets_a_plan_of_its_own() -> None:
    found = torch.get_num_threads()
    model = nn.Linear(32, 32)
    session = Forced(model, "drop")
    x = torch.randn(64, 32)
    try:
        for threads in (1, 1, 1, 2, 2, 1):
            torch.set_num_threads(threads)
            model.zero_grad()
            model(x).sin().exp().sum().backward()
            plain = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
            model.zero_grad()
            with session:
                loss = model(x).sin().exp().sum()
            loss.backward()
            assert same_bits([p.grad for p in model.parameters()], plain)
    finally:
        torch.set_num_threads(found)
        session.close()

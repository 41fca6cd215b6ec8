"""Trains twice, plainly and within a session, and compares everything as bits."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from planezip.execution.copies import Work
from planezip.execution.profile import Profile, TraceBuilder
from planezip.execution.schedule import Schedule, make_schedule
from planezip.planning import Planner, Problem
from planezip.planning.portfolio import lay_out
from planezip.session import Session
from planezip.session.planning import Rates

Loss = Callable[[int], torch.Tensor]
"""Computes the loss of a step."""
Make = Callable[[], tuple[torch.nn.Module, Loss]]


class Forced(Session):
    """A session that evicts everything it can in the ways given, in turn; no budget."""

    def __init__(self, model: torch.nn.Module, *actions: str) -> None:
        super().__init__(model, budget=1 << 60, min_bytes=0)
        self._actions = actions

    def _schedule(self, profile: Profile, out: Work, back: Work, excess_bytes: int) -> Schedule:
        builder = TraceBuilder(profile, "test")
        trace = builder.build()
        planner = Planner(Problem(trace, Rates(1e9, 1e9).platform()), kept=True, in_place=True)
        ratios = {t: max(1.1, profile.ratios.get(t, 1.0)) for t in planner.problem.candidates}
        draft = planner.draft(ratios)
        for number, t in enumerate(planner.problem.candidates):
            action = self._actions[number % len(self._actions)]
            if action == "drop" and not draft.costs.can_drop(t):
                action = "swap"
            if action == "compress" and not draft.may_compress(t):
                action = "swap"
            if action != "keep":
                draft.evict(t, action)  # type: ignore[arg-type]
        plan = lay_out(planner, draft.actions, draft.stays, 1 << 60, ratios)
        return make_schedule(profile, builder, trace, plan)


@dataclass
class Outcome:
    """Everything that training leaves behind."""

    losses: list[torch.Tensor] = field(default_factory=list)
    gradients: list[list[torch.Tensor | None]] = field(default_factory=list)
    state: list[torch.Tensor] = field(default_factory=list)
    generator: torch.Tensor | None = None


def train(
    make: Make, session_of: Callable[[torch.nn.Module], Session] | None, steps: int
) -> Outcome:
    """Train and report; `session_of` makes the session, None trains plainly."""
    torch.manual_seed(0)
    model, loss_of = make()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    session = session_of(model) if session_of else None
    outcome = Outcome()
    for step in range(steps):
        if session is None:
            loss = loss_of(step % 3)
        else:
            with session:
                loss = loss_of(step % 3)
        loss.backward()
        outcome.losses.append(loss.detach().clone())
        outcome.gradients.append(
            [None if p.grad is None else p.grad.clone() for p in model.parameters()]
        )
        optimizer.step()
        optimizer.zero_grad()
    outcome.state = [t.detach().clone() for t in (*model.parameters(), *model.buffers())]
    for state in optimizer.state.values():
        outcome.state += [t.clone() for t in state.values()]
    outcome.generator = torch.get_rng_state()
    if session is not None:
        session.close()
    return outcome


def same_bits(a: object, b: object) -> bool:
    """Whether tensors, or lists of them, are equal bit for bit."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and _bytes(a).equal(_bytes(b))
    return a is b is None


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


WAYS = {
    "swap": ("swap",),
    "drop": ("drop",),
    "compress": ("compress",),
    "drop two of three": ("drop", "swap", "drop"),
    "some of each": ("keep", "swap", "drop", "compress", "drop", "swap"),
}


def check(make: Make, actions: tuple[str, ...], steps: int = 5) -> None:
    """Assert that training within a session equals plain training: two profiled passes, one that is
    measured, and more that follow the plan."""
    plain = train(make, None, steps)
    ours = train(make, lambda model: Forced(model, *actions), steps)
    assert same_bits(plain.losses, ours.losses)
    assert same_bits(plain.gradients, ours.gradients)
    assert same_bits(plain.state, ours.state)
    assert same_bits(plain.generator, ours.generator)


def linear(compute: Callable[[torch.Tensor], torch.Tensor]) -> Make:
    """A linear layer, and as its loss the mean square of what `compute` makes of its output."""

    def make() -> tuple[torch.nn.Module, Loss]:
        model = torch.nn.Linear(32, 32)
        x = torch.randn(3, 16, 32)
        return model, lambda step: compute(model(x[step])).square().mean()

    return make

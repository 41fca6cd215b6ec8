"""What autograd saves comes back as it was, whatever it is."""

import gc
import weakref
from collections.abc import Callable
from threading import Thread

import pytest
import torch
from torch import nn

from execution.training import Forced, check, same_bits

ALL = ("drop", "swap", "compress")


def _elementwise(compute: Callable[[torch.Tensor], torch.Tensor], *shape: int) -> None:
    def make() -> tuple[nn.Module, Callable[[int], torch.Tensor]]:
        model = nn.Linear(shape[-1], shape[-1])
        x = torch.randn(3, *shape)
        return model, lambda step: compute(model(x[step])).abs().square().mean()

    check(make, ALL)


@pytest.mark.parametrize(
    "compute",
    {
        "views": lambda x: x.sin()[1:].exp() * x.cos()[:-1],
        "transposes": lambda x: (x.sin().t() @ x.cos()).exp().clamp(max=9),
        "expanded": lambda x: x.sin().sum(0, keepdim=True).expand(6, 8).exp().clamp(max=9),
        "sliced with steps": lambda x: x.sin()[::2, ::3].exp(),
        "saved by several operators": lambda x: (y := x.sin()).exp() * y.cos() + y * y,
        "float64": lambda x: x.double().sin().exp(),
        "float16": lambda x: x.half().sin().float(),
        "bfloat16": lambda x: x.bfloat16().sin().float().exp(),
        "complex and conjugated": lambda x: torch.complex(x, x.sin()).exp().conj() * x,
        "imaginary parts": lambda x: (torch.complex(x, x).exp().conj().imag * x).sin(),
        "bool": lambda x: torch.where(x.sin() > 0, x.exp().clamp(max=9), x.cos()),
        "int64": lambda x: x.sin().gather(1, x.argsort(1)).exp(),
        "zero sizes": lambda x: torch.cat([x.sin()[:0].exp(), x.cos().exp()]),
        "NaN": lambda x: (x.sin() + torch.tensor(float("nan"))).exp(),
        "in place": lambda x: x.sin().mul_(2).relu_().exp(),
        "in place on a slice": lambda x: _halved(x.sin()).exp(),
        "a buffer that is filled": lambda x: _filled(x).exp(),
        "random": lambda x: torch.dropout(x.sin(), 0.5, True) * torch.rand_like(x).exp(),
        "weights transposed": lambda x: (x.sin() @ x.detach().t()).exp().clamp(max=9),
    }.values(),
)
def test_it_comes_back_bit_for_bit(compute: Callable[[torch.Tensor], torch.Tensor]) -> None:
    _elementwise(compute, 6, 8)


def _halved(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[2:4] *= 0.5
    return y


def _filled(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty(6, 16)
    y[:, :8] = x.sin()
    y[:, 8:] = x.cos()
    return y


def test_channels_last_stays_channels_last() -> None:
    def make() -> tuple[nn.Module, Callable[[int], torch.Tensor]]:
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3))
        model = model.to(memory_format=torch.channels_last)
        x = torch.randn(3, 2, 3, 9, 9).to(memory_format=torch.preserve_format)
        return (
            model,
            lambda s: model(x[s].contiguous(memory_format=torch.channels_last)).square().mean(),
        )

    check(make, ALL)


def _session(model: nn.Module, *actions: str) -> Forced:
    """A session that has a plan for `model(ones(4, 8)).sin().exp()`."""
    session = Forced(model, *(actions or ALL))
    for _ in range(2):
        _step(session, model).backward()
        _gradients(model)
    return session


def _step(session: Forced, model: nn.Module, rows: int = 4) -> torch.Tensor:
    with session:
        return model(torch.ones(rows, 8)).sin().exp().cos().sum()


def _gradients(model: nn.Module) -> list[torch.Tensor | None]:
    found = [p.grad for p in model.parameters()]
    for p in model.parameters():
        p.grad = None
    return found


def _plain(model: nn.Module, rows: int = 4) -> list[torch.Tensor | None]:
    _gradients(model)
    model(torch.ones(rows, 8)).sin().exp().cos().sum().backward()
    return _gradients(model)


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(8, 8)


def test_a_value_changed_in_place_after_it_was_saved_raises_torchs_error(model: nn.Module) -> None:
    session = Forced(model, "drop")
    for step in range(3):
        with session:
            hidden = model(torch.ones(4, 8)).sin()
            loss = hidden.exp().square().sum()
        if step < 2:
            loss.backward()
    with torch.no_grad():
        hidden.add_(1)
    out = hidden.grad_fn
    assert out is not None
    with session:
        y = model(torch.ones(4, 8)).sin()
        z = y.exp()
        loss = (z * z).sum()
    with torch.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_parameter_changed_before_backward_raises_an_error(model: nn.Module) -> None:
    session = _session(model, "drop")
    loss = _step(session, model)
    with torch.no_grad():
        model.weight.add_(1)
    with pytest.raises(RuntimeError, match="input or parameter of shape"):
        loss.backward()


def test_an_input_changed_before_backward_raises_an_error_where_a_replay_needs_it() -> None:
    torch.manual_seed(0)
    scale = nn.Parameter(torch.ones(8))
    model = nn.ParameterList([scale])
    session = Forced(model, "drop")
    for step in range(3):
        x = torch.randn(4, 8)
        with session:
            loss = (x.sin() * scale).exp().sum()
        if step == 2:
            x.add_(1)
            with pytest.raises(RuntimeError, match="input or parameter of shape"):
                loss.backward()
        else:
            loss.backward()
            scale.grad = None


def test_backward_twice_with_retained_graph_gives_the_same_gradients(model: nn.Module) -> None:
    session, plain = _session(model), _plain(model)
    loss = _step(session, model)
    loss.backward(retain_graph=True)
    assert same_bits(_gradients(model), plain)
    loss.backward()
    assert same_bits(_gradients(model), plain)


def test_second_derivatives_are_those_of_plain_training(model: nn.Module) -> None:
    def penalty(loss: torch.Tensor) -> list[torch.Tensor | None]:
        (g,) = torch.autograd.grad(loss, model.weight, create_graph=True)
        g.square().sum().backward()
        return _gradients(model)

    session = _session(model)
    _gradients(model)
    plain = penalty(model(torch.ones(4, 8)).sin().exp().cos().sum())
    assert same_bits(penalty(_step(session, model)), plain)


def test_backward_inside_the_session_works(model: nn.Module) -> None:
    session, plain = _session(model), _plain(model)
    with session:
        model(torch.ones(4, 8)).sin().exp().cos().sum().backward()
    assert same_bits(_gradients(model), plain)
    _step(session, model).backward()
    assert same_bits(_gradients(model), plain)


def test_two_forward_passes_before_one_backward_pass(model: nn.Module) -> None:
    session, plain = _session(model), _plain(model)
    (_step(session, model) + _step(session, model)).backward()
    once = [g / 2 for g in _gradients(model) if g is not None]
    assert same_bits(once, plain)


def test_gradients_accumulate(model: nn.Module) -> None:
    session, plain = _session(model), _plain(model)
    for _ in range(2):
        _step(session, model).backward()
    assert same_bits([g / 2 for g in _gradients(model) if g is not None], plain)


def test_a_forward_pass_without_backward_gives_its_memory_back(model: nn.Module) -> None:
    session, plain = _session(model), _plain(model)
    _step(session, model)
    assert session._pool.used_bytes == 0
    _step(session, model).backward()
    assert same_bits(_gradients(model), plain)


def test_a_forward_pass_without_backward_lets_go_of_its_inputs_without_the_garbage_collector(
    model: nn.Module,
) -> None:
    session = _session(model)
    gc.collect()
    gc.disable()
    try:
        batch = torch.ones(4, 8)
        storage = weakref.ref(batch.untyped_storage())
        with session:
            loss = model(batch).sin().exp().cos().sum()
        del batch, loss
        assert storage() is None
    finally:
        gc.enable()


def _fails(model: nn.Module) -> None:
    hidden = model(torch.ones(4, 8)).sin().exp()
    raise ZeroDivisionError(hidden.shape)


def test_after_an_exception_in_the_forward_pass_the_next_step_is_fine(model: nn.Module) -> None:
    session, plain = _session(model), _plain(model)
    with pytest.raises(ZeroDivisionError), session:
        _fails(model)
    assert session._pool.used_bytes == 0
    _step(session, model).backward()
    assert same_bits(_gradients(model), plain)


def test_shapes_that_alternate_get_plans_of_their_own(model: nn.Module) -> None:
    session = _session(model)
    plain = {rows: _plain(model, rows) for rows in (4, 3)}
    for rows in (4, 3, 4, 3, 3, 4):
        _step(session, model, rows).backward()
        assert same_bits(_gradients(model), plain[rows])
    assert len(session._sequences.known) == 2


def test_without_gradients_nothing_is_done(model: nn.Module) -> None:
    session, plain = _session(model), _plain(model)
    with torch.no_grad():
        _step(session, model)
    with session, torch.no_grad():
        model(torch.ones(4, 8))
    _step(session, model).backward()
    assert same_bits(_gradients(model), plain)


def test_memory_returns_without_the_garbage_collector(model: nn.Module) -> None:
    session = _session(model)
    _step(session, model).backward()  # plans
    gc.collect()
    gc.disable()
    try:
        with session:
            hidden = model(torch.ones(4, 8)).sin()
            storage = weakref.ref(hidden.untyped_storage())
            loss = hidden.exp().cos().sum()
        del hidden
        loss.backward()
        del loss
        assert storage() is None
        assert session._pool.used_bytes == 0
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_checkpoints_inside_are_left_alone(model: nn.Module) -> None:
    from torch.utils.checkpoint import checkpoint

    def loss() -> torch.Tensor:
        x = torch.ones(4, 8)
        y = checkpoint(lambda x: model(x).sin().exp(), x, use_reentrant=False)
        return y.cos().sum()

    _gradients(model)
    loss().backward()
    plain = _gradients(model)
    session = Forced(model, *ALL)
    for _ in range(5):
        with session:
            value = loss()
        value.backward()
        assert same_bits(_gradients(model), plain)


def test_save_on_cpu_inside_is_left_alone(model: nn.Module) -> None:
    plain, session = _plain(model), Forced(model, *ALL)
    for _ in range(5):
        with session:
            hidden = model(torch.ones(4, 8)).sin()
            with torch.autograd.graph.save_on_cpu():
                loss = hidden.exp().cos().sum()
        loss.backward()
        assert same_bits(_gradients(model), plain)


def test_sparse_tensors_pass_through() -> None:
    model = nn.Embedding(10, 4, sparse=False)
    index = torch.tensor([[0, 1], [2, 3]])
    sparse = torch.sparse_coo_tensor(index, torch.randn(2), (4, 10), check_invariants=True)

    def make() -> tuple[nn.Module, Callable[[int], torch.Tensor]]:
        torch.manual_seed(1)
        net = nn.Linear(4, 10)
        x = torch.randn(3, 10, 4)
        return net, lambda s: torch.sparse.mm(sparse, net(x[s]).sin()).exp().sum()

    check(make, ALL)
    assert model.weight.shape == (10, 4)


class _Tagged(torch.Tensor):
    """A subclass as users write them."""


def test_tensor_subclasses_pass_through() -> None:
    def make() -> tuple[nn.Module, Callable[[int], torch.Tensor]]:
        model = nn.Linear(8, 8)
        x = torch.randn(3, 4, 8)

        def loss(step: int) -> torch.Tensor:
            hidden = model(x[step]).sin().as_subclass(_Tagged)
            return (hidden.exp() * hidden.cos()).as_subclass(torch.Tensor).sum()

        return model, loss

    check(make, ALL)


def test_weights_and_their_copies_are_never_evicted() -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
    session = Forced(model, "swap")
    x = torch.randn(24, 64, requires_grad=True)
    for _ in range(5):
        with session, torch.autocast("cpu", torch.bfloat16):
            loss = model(x).float().square().mean() + (x @ model[0].weight.t()).sum().float()
        loss.backward()
    trace = session._sequences.known[0].schedule.trace
    actions = session._sequences.known[0].schedule.plan.actions
    evicted = [trace.storages[s] for s, action in actions.items() if action != "keep"]
    assert evicted
    assert 2 * 64 * 64 not in [storage.bytes for storage in evicted]  # a weight in BF16
    session.close()


def test_evaluation_in_between_is_left_alone(model: nn.Module) -> None:
    session, plain = _session(model), _plain(model)
    model.eval()
    with torch.no_grad(), session:
        model(torch.ones(4, 8))
    model.train()
    _step(session, model).backward()
    assert same_bits(_gradients(model), plain)


def test_threads_train_side_by_side() -> None:
    def train_in_thread(seed: int, results: dict[int, bool]) -> None:
        torch.manual_seed(seed)
        model = nn.Linear(8, 8)
        plain, session = _plain(model), Forced(model, *ALL)
        same = True
        for _ in range(4):
            _step(session, model).backward()
            same &= same_bits(_gradients(model), plain)
        results[seed] = same

    results: dict[int, bool] = {}
    threads = [Thread(target=train_in_thread, args=(seed, results)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(3), True)

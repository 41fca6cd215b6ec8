"""Warm-up training: deterministic, resumable, and safe against interruptions and damage."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from planezip.errors import InputError
from planezip.workloads import WarmUp, Workload, resumable, warm_up, warmup
from planezip.workloads.checkpoints import Checkpoints
from planezip.workloads.progress import Progress
from small_workload import Noise, small_workload

STEPS = 12


class Interrupted(Exception):
    pass


def train(
    steps: int = STEPS,
    cache: Path | None = None,
    chosen: Workload | None = None,
    data: Noise | None = None,
    on_step: Callable[[int, int, float], None] | None = None,
    **options: float,
) -> tuple[WarmUp, dict[str, torch.Tensor]]:
    chosen = chosen or small_workload()
    model = chosen.model(seed=3)
    optimizer = chosen.optimizer(model, options.get("learning_rate"))
    done = warm_up(
        chosen,
        model,
        optimizer,
        data or Noise(),
        steps,
        batch=int(options.get("batch", 8)),
        seed=int(options.get("seed", 3)),
        cache=cache,
        on_step=on_step,
    )
    return done, model.state_dict()


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.values(), b.values(), strict=True))


def interrupt_after(steps: int) -> Callable[[int, int, float], None]:
    def on_step(done: int, total: int, loss: float) -> None:
        if done > steps:
            raise Interrupted

    return on_step


@pytest.fixture
def saving_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumable, "_SAVE_WITHIN_S", 0.0)


def test_the_loss_goes_down() -> None:
    losses = train(100)[0].losses
    assert sum(losses[-10:]) < 0.5 * sum(losses[:10])


def test_training_is_deterministic_whatever_was_random_before() -> None:
    torch.manual_seed(1)
    one = train()
    torch.manual_seed(2)
    two = train()
    assert one[0] == two[0]
    assert same(one[1], two[1])


def test_the_global_random_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    train()
    assert torch.equal(torch.get_rng_state(), before)


def draws(seed: int) -> list[float]:
    """What a random operator in the model draws in each step."""
    drawn: list[float] = []
    usual = small_workload()

    def loss(model: nn.Module, batch: tuple[torch.Tensor, ...]) -> torch.Tensor:
        drawn.append(float(torch.rand(1)))
        return usual.loss(model, batch)

    train(chosen=replace(usual, loss=loss), seed=seed)
    return drawn


def test_random_operators_draw_anew_in_every_step_and_for_every_seed() -> None:
    one, two = draws(3), draws(4)
    assert len({*one, *two}) == 2 * STEPS
    assert draws(3) == one


@pytest.mark.usefixtures("saving_always")
@pytest.mark.parametrize("interrupted_after", [1, 5, STEPS - 1])
def test_an_interrupted_training_ends_the_same(tmp_path: Path, interrupted_after: int) -> None:
    whole, expected = train()
    with pytest.raises(Interrupted):
        train(cache=tmp_path, on_step=interrupt_after(interrupted_after))
    seen: list[int] = []
    resumed, state = train(cache=tmp_path, on_step=lambda done, total, loss: seen.append(done))
    assert resumed.resumed_after == interrupted_after
    assert seen == list(range(interrupted_after + 1, STEPS + 1))
    assert resumed.losses == whole.losses
    assert same(state, expected)


def test_a_finished_training_is_not_repeated(tmp_path: Path) -> None:
    first, expected = train(cache=tmp_path)
    again, state = train(cache=tmp_path, on_step=interrupt_after(0))
    assert again.resumed_after == STEPS
    assert again.losses == first.losses
    assert same(state, expected)


def test_a_longer_training_continues_a_shorter_one(tmp_path: Path) -> None:
    train(5, cache=tmp_path)
    longer, state = train(cache=tmp_path)
    assert longer.resumed_after == 5
    assert same(state, train()[1])
    assert train(7, cache=tmp_path)[0].resumed_after == 5


@pytest.mark.usefixtures("saving_always")
def test_superseded_checkpoints_are_removed(tmp_path: Path) -> None:
    train(cache=tmp_path)
    assert [p.name.rpartition("-")[2] for p in tmp_path.iterdir()] == [f"{STEPS}.pt"]


@pytest.mark.parametrize("step_s", [4, 20, 26, 49, 200])
def test_no_more_than_a_minute_or_a_step_can_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_s: int
) -> None:
    done = 0

    def on_step(steps_done: int, total: int, loss: float) -> None:
        nonlocal done
        done = steps_done

    monkeypatch.setattr(resumable.time, "monotonic", lambda: done * step_s)
    saved: list[int] = []
    original = Checkpoints.save

    def save(self: Checkpoints, progress: Progress) -> None:
        saved.append(len(progress.losses))
        original(self, progress)

    monkeypatch.setattr(Checkpoints, "save", save)
    train(30, cache=tmp_path, on_step=on_step)
    gaps = [b - a for a, b in zip([0, *saved], saved, strict=False)]
    assert saved[-1] == 30
    assert max(gaps) * step_s <= max(60, step_s)
    assert min(gaps[:-1], default=99) * step_s >= min(25, step_s)


@pytest.mark.parametrize("damage", [b"", b"not a checkpoint", None])
def test_a_damaged_checkpoint_is_ignored_with_a_note(tmp_path: Path, damage: bytes | None) -> None:
    train(cache=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-200] if damage is None else damage)
    again, state = train(cache=tmp_path)
    assert again.resumed_after == 0
    assert again.notes == (f"ignored the damaged warm-up checkpoint {file.name}",)
    assert same(state, train()[1])
    assert train(cache=tmp_path)[0].notes == ()


@pytest.mark.parametrize(
    "other",
    [
        {"learning_rate": 0.05},
        {"batch": 4},
        {"seed": 4},
        {"data": replace(Noise(), fingerprint="other")},
        {"chosen": replace(small_workload(), name="other")},
        {"chosen": replace(small_workload(), build=lambda: nn.Linear(4, 3))},
    ],
    ids=["rate", "batch", "seed", "data", "model", "shape"],
)
def test_another_training_does_not_use_the_checkpoint(tmp_path: Path, other: dict) -> None:
    train(cache=tmp_path)
    assert train(cache=tmp_path, **other)[0].resumed_after == 0
    assert len(list(tmp_path.iterdir())) == 2


def test_other_library_versions_do_not_use_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(cache=tmp_path)
    monkeypatch.setattr(warmup, "version", lambda library: "0")
    assert train(cache=tmp_path)[0].resumed_after == 0


def test_a_cache_that_cannot_be_written_is_noted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done, state = train(cache=tmp_path / "file" / "cache")
    assert "cannot write" in done.notes[0]
    assert len(done.notes) == 1
    assert same(state, train()[1])


def test_a_loss_that_is_no_number_stops_the_training() -> None:
    with pytest.raises(
        InputError,
        match=r"the loss of small is (nan|inf) after [0-9]+ training step.* train fewer steps",
    ):
        train(learning_rate=1e30)

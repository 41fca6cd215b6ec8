"""Checkpoints of a warm-up: whole and fitting, or ignored with a note and nothing touched."""

import copy
import errno
import io
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from planezip.errors import InputError
from planezip.workloads import Prepared, cache_folder, warmed_up
from planezip.workloads.checkpoints import Checkpoints
from planezip.workloads.progress import Progress
from small_workload import Noise, small_workload

STEPS = 3


def trained() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """A model and an optimizer with state, after some steps."""
    model, optimizer = fresh()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for step in range(STEPS):
            optimizer.zero_grad()
            small_workload().loss(model, Noise().batch(step, 8)).backward()
            optimizer.step()
    return model, optimizer


def fresh() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    model = small_workload().model(seed=0)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def progress() -> Progress:
    model, optimizer = trained()
    return Progress((0.5, 0.25, 0.125), model.state_dict(), optimizer.state_dict())


def written(whole: Progress) -> bytes:
    file = io.BytesIO()
    whole.write(file)
    return file.getvalue()


def read(data: bytes) -> Progress | None:
    return Progress.read(io.BytesIO(data))


WHOLE = written(progress())


def flat(state: Any) -> list[Any]:
    """State with tensors as bytes, to be compared."""
    if isinstance(state, torch.Tensor):
        return [state.dtype, state.shape, state.numpy().tobytes()]
    if isinstance(state, dict):
        return [item for key, value in state.items() for item in (key, *flat(value))]
    if isinstance(state, (list, tuple)):
        return [item for value in state for item in flat(value)]
    return [state]


def states(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[Any]:
    return flat([model.state_dict(), optimizer.state_dict()])


def test_progress_is_restored_whole() -> None:
    restored = fresh()
    held = read(WHOLE)
    assert held is not None
    assert held.losses == (0.5, 0.25, 0.125)
    assert held.restore(*restored)
    assert states(*restored) == states(*trained())


@given(st.integers(0, 8 * len(WHOLE) - 1))
@settings(max_examples=300)
def test_no_flipped_bit_is_accepted(bit: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[bit // 8] ^= 1 << bit % 8
    assert read(bytes(damaged)) is None


@given(st.integers(0, len(WHOLE) - 1))
def test_nothing_truncated_is_accepted(length: int) -> None:
    assert read(WHOLE[:length]) is None


@given(st.binary(max_size=64))
def test_nothing_foreign_is_accepted(data: bytes) -> None:
    assert read(data) is None
    assert read(WHOLE + data) is None or not data


class Failing(io.BytesIO):
    """A file that fails after some writes."""

    def __init__(self, failure: BaseException, writes: int) -> None:
        super().__init__()
        self.failure, self.writes = failure, writes

    def write(self, data: Any) -> int:
        self.writes -= 1
        if self.writes < 0:
            raise self.failure
        return super().write(data)


@pytest.mark.parametrize("writes", [0, 1, 3, 9])
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left")])
def test_what_stops_the_writing_is_what_the_caller_sees(
    failure: BaseException, writes: int
) -> None:
    """Torch would make a RuntimeError of either."""
    with pytest.raises(type(failure)) as caught:
        progress().write(Failing(failure, writes))
    assert caught.value is failure


def test_no_copy_of_the_whole_is_made() -> None:
    """Nothing that is written at once is larger than the largest tensor."""
    largest = 0

    class Watching(io.BytesIO):
        def write(self, data: Any) -> int:
            nonlocal largest
            largest = max(largest, len(data))
            return super().write(data)

    weights = {str(i): torch.ones(10_000) for i in range(20)}
    Progress((), weights, {}).write(Watching())
    assert largest == 40_000


class Unreadable:
    """No safe loader makes one."""


def reshaped(state: dict[str, Any]) -> dict[str, Any]:
    return {k: v[None] for k, v in state.items()}


def momenta(change: Callable[[torch.Tensor], object]) -> Callable[[Progress], Progress]:
    """Progress whose optimizer holds changed momenta."""

    def forge(good: Progress) -> Progress:
        optimizer = copy.deepcopy(good.optimizer)
        for values in optimizer["state"].values():
            values["momentum_buffer"] = change(values["momentum_buffer"])
        return replace(good, optimizer=optimizer)

    return forge


def with_state(state: object) -> Callable[[Progress], Progress]:
    return lambda good: replace(good, optimizer=good.optimizer | {"state": state})


def other_rate(good: Progress) -> Progress:
    (group,) = good.optimizer["param_groups"]
    return replace(good, optimizer=good.optimizer | {"param_groups": [group | {"lr": 1e9}]})


FORGERIES: dict[str, Callable[[Progress], Progress]] = {
    "no model": lambda good: replace(good, model={}),
    "model is a number": lambda good: replace(good, model=5),
    "model is a tensor": lambda good: replace(good, model=torch.ones(3)),
    "model of numbers": lambda good: replace(good, model=dict.fromkeys(good.model, 1.0)),
    "other shapes": lambda good: replace(good, model=reshaped(good.model)),
    "other types": lambda good: replace(
        good, model={k: v.to(torch.float64) for k, v in good.model.items()}
    ),
    "a weight too many": lambda good: replace(good, model=good.model | {"x": torch.ones(1)}),
    "no optimizer": lambda good: replace(good, optimizer={}),
    "optimizer is a list": lambda good: replace(good, optimizer=[1]),
    "other learning rate": other_rate,
    "groups are a number": lambda good: replace(
        good, optimizer=good.optimizer | {"param_groups": 1}
    ),
    "groups are a tensor": lambda good: replace(
        good, optimizer=good.optimizer | {"param_groups": torch.ones(2)}
    ),
    "state is a list": with_state([1]),
    "state of no parameter": with_state({99: {"momentum_buffer": torch.ones(1)}}),
    "state of numbers": with_state({0: 1}),
    "momenta of other shapes": momenta(lambda m: m[None]),
    "momenta of other types": momenta(lambda m: m.to(torch.int64)),
    "momenta of no number": momenta(lambda m: m * float("nan")),
    "momenta are missing": momenta(lambda m: None),
    "momenta are text": momenta(lambda m: "m"),
    "no momenta at all": with_state({}),
    "momenta of one parameter": lambda good: with_state(
        dict(list(good.optimizer["state"].items())[:1])
    )(good),
    "entries without names": lambda good: with_state({k: {} for k in good.optimizer["state"]})(
        good
    ),
    "an entry too many": lambda good: with_state(
        {k: {**v, "more": torch.ones(1)} for k, v in good.optimizer["state"].items()}
    )(good),
    "weights of no number": lambda good: replace(
        good, model={k: v / 0 if v.is_floating_point() else v for k, v in good.model.items()}
    ),
    "losses are no numbers": lambda good: replace(good, losses=(float("nan"),) * STEPS),
    "losses are infinite": lambda good: replace(good, losses=(float("inf"),) * STEPS),
    "losses are text": lambda good: replace(good, losses=("1",) * STEPS),
    "too few losses": lambda good: replace(good, losses=good.losses[1:]),
    "too many losses": lambda good: replace(good, losses=(*good.losses, 1.0)),
    "not safe to load": lambda good: replace(good, model={"x": Unreadable()}),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_checkpoint_is_ignored_with_a_note(
    tmp_path: Path, forge: Callable[[Progress], Progress]
) -> None:
    """Their checksums are right."""
    checkpoints = Checkpoints(tmp_path, "small", "identity")
    checkpoints.path(STEPS).write_bytes(written(forge(progress())))
    current = fresh()
    before = states(*current)
    losses, notes = checkpoints.resume(STEPS, *current)
    assert losses == []
    assert notes == [f"ignored the damaged warm-up checkpoint {checkpoints.path(STEPS).name}"]
    assert states(*current) == before


@pytest.mark.parametrize("held", [torch.ones(3), {}, [1], {"losses": 1, "model": 1}, None])
def test_something_else_with_a_right_checksum_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: object
) -> None:
    save = torch.save
    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", lambda _, file: save(held, file))
        data = written(progress())
    assert read(data) is None


def test_the_checkpoint_before_a_damaged_one_is_used(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "small", "identity")
    checkpoints.save(progress())
    checkpoints.path(STEPS + 1).write_bytes(WHOLE)
    checkpoints.path(STEPS + 2).mkdir()
    os.mkfifo(checkpoints.path(STEPS + 3))
    current = fresh()
    losses, notes = checkpoints.resume(STEPS + 9, *current)
    assert losses == [0.5, 0.25, 0.125]
    assert len(notes) == 3
    assert states(*current) == states(*trained())


def test_a_pipe_under_the_name_of_a_checkpoint_is_not_written_to(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "small", "identity")
    os.mkfifo(checkpoints.path(STEPS))
    with pytest.raises(InputError, match=r"3\.pt: it is no regular file; remove it"):
        checkpoints.save(progress())
    assert [path.name for path in tmp_path.iterdir()] == [checkpoints.path(STEPS).name]


def test_progress_of_no_step_is_never_used(tmp_path: Path) -> None:
    """None is ever saved: it could hold any weights."""
    checkpoints = Checkpoints(tmp_path, "small", "identity")
    forged = replace(progress(), losses=(), optimizer=progress().optimizer | {"state": {}})
    checkpoints.path(0).write_bytes(written(forged))
    current = fresh()
    before = states(*current)
    assert checkpoints.resume(9, *current) == ([], [])
    assert not forged.restore(*current)
    assert states(*current) == before


def test_names_that_are_not_quite_checkpoints_are_left_alone(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "small", "identity")
    stem = checkpoints.path(0).name.removesuffix("-0.pt")
    for name in ("-03.pt", "-\u0663.pt", "--1.pt", "-3.pt.part", "-.pt"):
        (tmp_path / f"{stem}{name}").write_bytes(WHOLE)
    assert checkpoints.resume(9, *fresh()) == ([], [])


def warmed(cache: Path | None) -> Prepared:
    return warmed_up(small_workload(), Noise(), STEPS, batch=None, seed=0, cache=cache)


def out_of_reach(tmp_path: Path) -> Path:
    return tmp_path / ("long" * 100)


def links_in_a_circle(tmp_path: Path) -> Path:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    return tmp_path / "a"


def not_ours(tmp_path: Path) -> Path:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0)
    if os.access(folder, os.R_OK):
        pytest.skip("this user may read everything")
    return folder


@pytest.mark.parametrize("folder", [out_of_reach, links_in_a_circle, not_ours])
def test_a_cache_that_cannot_be_read_is_noted_and_not_used(
    tmp_path: Path, folder: Callable[[Path], Path]
) -> None:
    prepared = warmed(folder(tmp_path))
    (note,) = prepared.notes
    assert note.startswith("keeps no warm-up checkpoints: cannot read the folder")
    assert prepared.weights == f"random + {STEPS} warm-up steps"


def test_a_cache_whose_listing_is_forbidden_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listdir = os.listdir

    def forbid(folder: str | Path = ".") -> list[str]:
        if Path(folder) == tmp_path:
            raise PermissionError(13, "Permission denied", str(folder))
        return listdir(folder)

    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", forbid)
        notes = warmed(tmp_path).notes
    assert notes == (
        f"keeps no warm-up checkpoints: cannot read the folder {tmp_path}: Permission denied",
    )
    assert list(tmp_path.iterdir()) == []


def test_a_superseded_checkpoint_that_cannot_be_removed_stays(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "small", "identity")
    checkpoints.path(STEPS).mkdir()
    checkpoints.discard(STEPS)
    checkpoints.discard(STEPS + 1)
    assert checkpoints.path(STEPS).is_dir()


def test_the_cache_folder_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "planezip" / "warmup"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "planezip" / "warmup"


def test_without_a_home_nothing_is_kept_and_a_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    assert cache_folder() is None
    (note,) = warmed(cache_folder()).notes
    assert note.startswith("keeps no warm-up checkpoints: there is no cache folder")


def adam() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    model = small_workload().model(seed=0)
    model[4].bias.requires_grad_(False)
    return model, torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)


@pytest.mark.parametrize(("steps", "usable"), [(STEPS, True), (STEPS - 1, False)])
def test_adams_count_of_steps_is_that_of_the_losses(steps: int, usable: bool) -> None:
    model, optimizer = adam()
    for step in range(steps):
        optimizer.zero_grad()
        small_workload().loss(model, Noise().batch(step, 8)).backward()
        optimizer.step()
    held = read(written(Progress((0.5,) * STEPS, model.state_dict(), optimizer.state_dict())))
    assert held is not None
    assert held.restore(*adam()) is usable

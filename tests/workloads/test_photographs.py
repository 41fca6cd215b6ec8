"""Photographs: found, labelled, cropped and normalised, the same for the same seed."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from planezip.errors import InputError
from planezip.workloads.augment import flip_or_not, random_box, random_resized_crop
from planezip.workloads.photographs import Photographs, class_labels, sample_photographs


def write(path: Path, color: tuple[int, int, int] = (255, 0, 0), mode: str = "RGB") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (40, 30), color).convert(mode).save(path)
    return path


def folder_of(tmp_path: Path, *names: str) -> Path:
    for name in names:
        write(tmp_path / name)
    return tmp_path


def photographs(folder: Path, seed: int = 0, classes: int = 1000) -> Photographs:
    return Photographs.from_folder(folder, seed, classes, pixels=16)


def test_the_default_photographs_come_with_scikit_learn() -> None:
    samples = sample_photographs(0, 1000, 224)
    assert [f.name for f in samples.files] == ["china.jpg", "flower.jpg"]
    assert samples.labels == (0, 1)
    images, labels = samples.batch(0, 8)
    assert (images.shape, images.dtype) == ((8, 3, 224, 224), torch.float32)
    assert (labels.shape, labels.dtype) == ((8,), torch.int64)
    assert sorted(labels.tolist()) == [0] * 4 + [1] * 4
    assert images.std() > 0.5


def test_suffixes_in_any_case_and_subfolders_are_found(tmp_path: Path) -> None:
    folder_of(tmp_path, "a.jpg", "b.JPEG", "c.Png", "deep/er/d.jpeg")
    (tmp_path / "notes.txt").write_text("not a photograph")
    (tmp_path / "folder.jpg").mkdir()
    found = photographs(tmp_path)
    assert [f.name for f in found.files] == ["a.jpg", "b.JPEG", "c.Png", "d.jpeg"]
    assert found.description == f"4 photographs of {tmp_path.name}"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no folder .*missing"):
        photographs(tmp_path / "missing")


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=tmp_path.name):
        photographs(tmp_path)


@pytest.mark.parametrize("locked", [".", "sub", "sub/deeper"])
@pytest.mark.parametrize("mode", [0o000, 0o400, 0o100])
def test_a_folder_without_access_rights_is_named(tmp_path: Path, locked: str, mode: int) -> None:
    folder = folder_of(tmp_path / "images", "a.png", "sub/b.png", "sub/deeper/c.png")
    os.chmod(folder / locked, mode)
    try:
        if os.access(folder / locked, os.R_OK | os.X_OK):
            pytest.skip("this user may read everything")
        with pytest.raises(InputError, match=rf"cannot read .*{Path(locked).name}.*denied"):
            photographs(folder)
    finally:
        os.chmod(folder / locked, 0o700)


@pytest.mark.parametrize("refused", ["images", "sub"])
@pytest.mark.parametrize("call", ["scandir", "stat"])
def test_a_folder_that_the_system_refuses_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str, call: str
) -> None:
    """For users whom access rights do not stop."""
    folder = folder_of(tmp_path / "images", "a.png", "sub/b.png")
    real = getattr(os, call)

    def refuse(path: object, *args: object, **kwargs: object) -> object:
        below = Path(str(path)) if call == "scandir" else Path(str(path)).parent
        if below.name == refused:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        with pytest.raises(
            InputError, match=rf"cannot read .*{refused}.*: Permission denied; make"
        ):
            photographs(folder)


def test_a_photograph_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / "a.png")
    found = photographs(tmp_path)
    file.unlink()
    with pytest.raises(InputError, match=r"a\.png"):
        found.batch(0, 1)


def test_links_that_lead_nowhere_are_no_photographs(tmp_path: Path) -> None:
    write(tmp_path / "a.png")
    (tmp_path / "b.png").symlink_to(tmp_path / "missing.png")
    (tmp_path / "c.png").symlink_to(tmp_path / "a.png")
    assert [f.name for f in photographs(tmp_path).files] == ["a.png", "c.png"]


def test_a_folder_whose_name_is_no_text_can_be_described(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    write(folder / "a.png")
    assert photographs(folder).description == "1 photograph of caf\ufffd"


@pytest.mark.parametrize("content", [b"", b"no image", None], ids=["empty", "text", "truncated"])
def test_a_damaged_photograph_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = write(tmp_path / "broken.png")
    file.write_bytes(file.read_bytes()[:60] if content is None else content)
    with pytest.raises(InputError, match=r"broken\.png"):
        photographs(tmp_path).batch(0, 1)


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "1"])
def test_all_colour_modes_become_rgb(tmp_path: Path, mode: str) -> None:
    write(tmp_path / "a.png", (255, 255, 255), mode)
    images, _ = photographs(tmp_path).batch(0, 1)
    white = (1 - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])
    np.testing.assert_allclose(images[0, :, 0, 0], white, rtol=1e-6)


def labels(*names: str, classes: int = 1000) -> tuple[int, ...]:
    return class_labels([Path(n) for n in names], classes)


def test_labels_are_ranks_of_synsets() -> None:
    assert labels(
        "n01440764_tench.JPEG", "n03000000_saw.JPEG", "n01440764_2.JPEG", "n02000000_x.jpg"
    ) == (0, 2, 0, 1)


def test_synsets_decide_also_below_folders() -> None:
    assert labels("val/n02000000_1.jpg", "train/n01000000_1.jpg", "train/n02000000_2.jpg") == (
        1,
        0,
        1,
    )


def test_labels_are_ranks_of_subfolders() -> None:
    assert labels("dog/1.jpg", "cat/1.jpg", "dog/2.jpg") == (1, 0, 1)


def test_labels_are_ranks_of_names_modulo_the_classes() -> None:
    assert labels("c.jpg", "a.jpg", "b.jpg", "d.jpg", classes=3) == (2, 0, 1, 0)


def test_a_batch_depends_on_seed_and_step_alone(tmp_path: Path) -> None:
    Image.effect_noise((60, 50), 80).convert("RGB").save(tmp_path / "a.png")
    one, two = photographs(tmp_path, 1), photographs(tmp_path, 1)
    one.batch(0, 4)
    assert torch.equal(one.batch(5, 4)[0], two.batch(5, 4)[0])
    assert not torch.equal(one.batch(5, 4)[0], one.batch(6, 4)[0])
    assert not torch.equal(one.batch(5, 4)[0], photographs(tmp_path, 2).batch(5, 4)[0])


def test_every_photograph_is_used_once_in_a_pass(tmp_path: Path) -> None:
    found = photographs(folder_of(tmp_path, *(f"{i}.png" for i in range(6))))
    passes = [found.batch(step, 6)[1].tolist() for step in range(4)]
    assert all(sorted(p) == list(range(6)) for p in passes)
    assert len({tuple(p) for p in passes}) > 1
    in_twos = [label for step in range(3) for label in found.batch(step, 2)[1].tolist()]
    assert in_twos == passes[0]


def test_the_fingerprint_follows_files_and_seed(tmp_path: Path) -> None:
    folder_of(tmp_path, "a.png")
    before = photographs(tmp_path).fingerprint
    assert photographs(tmp_path).fingerprint == before
    assert photographs(tmp_path, seed=1).fingerprint != before
    folder_of(tmp_path, "b.png")
    assert photographs(tmp_path).fingerprint != before


@given(st.integers(1, 500), st.integers(1, 500), st.integers(0, 2**32))
def test_boxes_lie_in_the_image(width: int, height: int, seed: int) -> None:
    left, upper, right, lower = random_box(width, height, np.random.default_rng(seed))
    assert 0 <= left < right <= width
    assert 0 <= upper < lower <= height


def test_boxes_have_the_standard_areas_and_aspects() -> None:
    random = np.random.default_rng(0)
    boxes = [random_box(400, 400, random) for _ in range(2000)]
    areas = [(r - left) * (b - u) / 160_000 for left, u, r, b in boxes]
    aspects = [(r - left) / (b - u) for left, u, r, b in boxes]
    assert 0.078 <= min(areas) < 0.1
    assert 0.9 < max(areas) <= 1.0
    assert 0.74 < min(aspects) < 0.78
    assert 1.28 < max(aspects) < 1.35


def test_an_extreme_image_gets_the_largest_centred_box() -> None:
    assert random_box(1000, 30, np.random.default_rng(0)) == (480, 0, 520, 30)
    assert random_box(30, 1000, np.random.default_rng(0)) == (0, 480, 30, 520)


def test_a_crop_shows_its_part_of_the_image() -> None:
    gradient = Image.fromarray(np.tile(np.arange(256, dtype=np.uint8), (256, 1)))
    left, _, right, _ = random_box(256, 256, np.random.default_rng(7))
    crop = np.asarray(random_resized_crop(gradient, 32, np.random.default_rng(7)), float)
    assert abs(crop.mean() - (left + right - 1) / 2) < 1.5
    assert crop.shape == (32, 32)


def test_half_of_the_images_are_mirrored() -> None:
    image = Image.fromarray(np.array([[0, 255]], np.uint8))
    random = np.random.default_rng(0)
    mirrored = sum(flip_or_not(image, random).getpixel((0, 0)) == 255 for _ in range(1000))
    assert 450 < mirrored < 550

"""Archives written by earlier versions are read."""

import runpy
import zipfile
from pathlib import Path

import pytest
from safetensors import safe_open

from archiving import silent
from planezip.codec.archives import archive_of
from planezip.codec.archives.settings import Settings

FOLDER = Path(__file__).parents[1] / "golden"
SCRIPT = runpy.run_path(str(FOLDER / "write_archives.py"))
CASES = SCRIPT["CASES"]


def contents(path: Path) -> object:
    """What is to be the same in a file and in the one restored, whatever library wrote them."""
    if path.suffix == ".safetensors":
        with safe_open(path, "np") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            found = {name: (t.dtype, t.shape, t.tobytes()) for name, t in tensors.items()}
            return found, file.metadata()
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as zipped:
            return [(i.filename, i.compress_type, zipped.read(i)) for i in zipped.infolist()]
    return path.read_bytes()


def test_every_archive_has_its_case_and_every_case_its_archive():
    assert {path.name for path in FOLDER.glob("*.pz.*")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_golden_archive_is_read(tmp_path, name):
    source, back = tmp_path / f"source{Path(name).suffix}", tmp_path / f"back{Path(name).suffix}"
    CASES[name](source)
    archive_of(back).decompress(FOLDER / name, back, Settings(), silent)
    assert contents(back) == contents(source)


def test_writing_keeps_what_exists(monkeypatch, tmp_path):
    monkeypatch.setitem(SCRIPT["main"].__globals__, "FOLDER", tmp_path)
    (tmp_path / "arrays.pz.npz").write_bytes(b"older")
    SCRIPT["main"]()
    assert (tmp_path / "arrays.pz.npz").read_bytes() == b"older"
    assert {path.name for path in tmp_path.iterdir()} == set(CASES)

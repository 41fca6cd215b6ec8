"""The program in docs/archives.md runs, and its table of archives is what the code does."""

import re
from pathlib import Path

import numpy as np

import planezip

DOCUMENT = (Path(__file__).parents[2] / "docs" / "archives.md").read_text()


def test_the_program_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = re.search(r"## In a program\n\n```python\n(.*?)```", DOCUMENT, re.DOTALL).group(1)
    array = np.arange(5000, dtype=np.float32)
    names = {"array": array, "stream": planezip.compress(array), "batches": [array, array[:9]]}
    exec(program, names)
    assert names["part"].tolist() == list(range(1000, 2000))
    assert names["batch"].tolist() == list(range(9))


def test_the_zarr_program_runs(tmp_path, monkeypatch):
    import numcodecs
    import zarr

    monkeypatch.chdir(tmp_path)
    program = re.search(r"\[zarr\]'`:\n\n```python\n(.*?)```", DOCUMENT, re.DOTALL).group(1)
    array = np.arange(90_000, dtype=np.float32).reshape(300, 300)
    exec(program, {"zarr": zarr, "numcodecs": numcodecs, "array": array})
    for name in ("a.zarr", "b.zarr"):
        assert zarr.open_array(name, mode="r")[:].tobytes() == array.tobytes()


def test_the_hdf5_program_runs(tmp_path, monkeypatch):
    import h5py

    monkeypatch.chdir(tmp_path)
    program = re.search(r"There is no HDF5 filter.*?```python\n(.*?)```", DOCUMENT, re.DOTALL)[1]
    names = {
        "h5py": h5py,
        "np": np,
        "planezip": planezip,
        "array": np.arange(300, dtype=np.float32).reshape(3, 100),
    }
    exec(program, names)
    assert names["restored"].dtype == np.float32
    assert names["restored"].tolist() == names["array"].tolist()


def test_the_manifest_has_the_fields_that_are_printed():
    from planezip.codec.archives.manifest import Entry, Manifest

    printed = set(re.findall(r'"(\w+)": ', re.search(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)[1]))
    assert printed == {*Manifest.__struct_fields__, *Entry.__struct_fields__}


def test_the_program_on_levels_runs_and_the_table_names_them():
    from planezip.codec import levels

    section = DOCUMENT.partition("## Levels\n")[2].partition("\n## ")[0]
    before = levels.level()
    exec(
        re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1),
        {"planezip": planezip, "array": np.arange(9)},
    )
    assert levels.level() == before
    named = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert named == ["avx512", "avx2", "portable"]
    assert [name for name in named if name in levels.levels()] == list(levels.levels())

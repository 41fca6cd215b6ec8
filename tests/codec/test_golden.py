"""Streams written by earlier versions are read, and written again to the byte."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

import planezip

FOLDER = Path(__file__).parents[1] / "golden"
CASES = runpy.run_path(str(FOLDER / "write.py"))["CASES"]


def test_every_file_has_its_case_and_every_case_its_file():
    assert {path.stem for path in FOLDER.glob("*.pz")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_golden_stream_is_read(name):
    contents, _ = CASES[name]
    expected = contents()
    restored = planezip.decompress((FOLDER / f"{name}.pz").read_bytes())
    assert type(restored) is type(expected)
    if isinstance(expected, bytes):
        assert restored == expected
        return
    assert restored.dtype == expected.dtype
    assert restored.shape == expected.shape
    if isinstance(expected, torch.Tensor):
        assert torch.equal(restored.view(torch.uint8), expected.view(torch.uint8))
    else:
        assert np.ascontiguousarray(restored).tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", CASES)
def test_golden_stream_is_written_again(name):
    contents, options = CASES[name]
    assert planezip.compress(contents(), **options) == (FOLDER / f"{name}.pz").read_bytes()


def test_writing_keeps_what_exists(monkeypatch, tmp_path, capsys):
    script = runpy.run_path(str(FOLDER / "write.py"))
    monkeypatch.setitem(script["main"].__globals__, "FOLDER", tmp_path)
    (tmp_path / "bytes.pz").write_bytes(b"older")
    script["main"]()
    assert (tmp_path / "bytes.pz").read_bytes() == b"older"
    assert "kept bytes.pz" in capsys.readouterr().out
    assert len(list(tmp_path.iterdir())) == len(script["CASES"])

"""Measurements are found by model and name, those of the paper first."""

from pathlib import Path

import pytest

from planezip.errors import InputError
from planezip.records import save
from planezip.records.measurements import Measurements, measurements_in, shipped
from toynet import build_capture, build_trace


@pytest.fixture
def folder(tmp_path):
    for model in ("mine", "gpt2", "llama", "resnet50"):
        save(tmp_path / model / "trace.json.gz", build_trace(2))
    save(tmp_path / "gpt2" / "trained.json.gz", build_capture(build_trace(2)))
    return tmp_path


def test_models_come_in_the_papers_order_then_all_others(folder):
    assert Measurements(folder).models() == ("resnet50", "gpt2", "llama", "mine")


def test_a_capture_that_was_not_made_is_none(folder):
    measured = Measurements(folder)
    assert measured.capture("gpt2") == build_capture(measured.trace("gpt2"))
    assert measured.capture("gpt2", "random") is None
    assert measured.capture("nobody") is None
    assert measured.captures(("resnet50", "gpt2")) == [measured.capture("gpt2")]


def test_a_trace_that_was_not_made_is_named(folder):
    with pytest.raises(InputError, match=r"nobody/trace\.json\.gz"):
        Measurements(folder).trace("nobody")


@pytest.mark.parametrize("folder", ["", "missing"])
def test_a_folder_without_measurements_is_named(tmp_path, folder):
    with pytest.raises(InputError, match="planezip measure"):
        measurements_in(tmp_path / folder)


def test_the_package_carries_its_own():
    assert measurements_in(None) == shipped()
    assert "resnet50" in shipped().models()
    assert (Path(shipped().folder) / "machine.json").exists()

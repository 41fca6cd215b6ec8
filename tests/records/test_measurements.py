"""Measurements are found by model and name, those of the paper first."""

from dataclasses import replace
from pathlib import Path

import pytest

from planezip.errors import InputError
from planezip.records import save
from planezip.records.measurements import LENGTHS, Measurements, measurements_in, shipped
from toynet import build_capture, build_trace


@pytest.fixture
def folder(tmp_path):
    for model in ("mine", "gpt2", "llama", "resnet50"):
        save(tmp_path / model / "trace.json.gz", trace_of(model))
    save(tmp_path / "gpt2" / "trained.json.gz", build_capture(trace_of("gpt2")))
    return tmp_path


def trace_of(model):
    return replace(build_trace(2), model=model)


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


def test_records_of_another_model_are_refused(folder):
    save(folder / "resnet50" / "trace.json.gz", trace_of("gpt2"))
    save(folder / "gpt2" / "trained.json.gz", build_capture(trace_of("resnet50")))
    with pytest.raises(InputError, match="is of gpt2, not of resnet50"):
        Measurements(folder).trace("resnet50")
    with pytest.raises(InputError, match="is of resnet50, not of gpt2"):
        Measurements(folder).capture("gpt2")


@pytest.mark.parametrize("folder", ["", "missing"])
def test_a_folder_without_measurements_is_named(tmp_path, folder):
    with pytest.raises(InputError, match="planezip measure"):
        measurements_in(tmp_path / folder)


def test_the_package_carries_its_own():
    assert measurements_in(None) == shipped()
    assert "resnet50" in shipped().models()
    assert (Path(shipped().folder) / "machine.json").exists()


def test_traces_of_several_lengths_come_with_the_longest_last(folder):
    assert Measurements(folder).traces_by_length("gpt2") == {}
    shorter = replace(trace_of("gpt2"), batch=9)
    save(folder / "gpt2" / "trace_256.json.gz", shorter)
    found = Measurements(folder).traces_by_length("gpt2")
    assert list(found.items()) == [(256, shorter), (1024, trace_of("gpt2"))]
    save(folder / "gpt2" / "trace_256.json.gz", trace_of("llama"))
    with pytest.raises(InputError, match=r"trace_256.*is of llama, not of gpt2"):
        Measurements(folder).traces_by_length("gpt2")


def test_the_packages_lengths_run_the_same_operators():
    traces = shipped().traces_by_length("gpt2")
    assert tuple(traces) == LENGTHS
    assert len({tuple(op.name for op in t.ops) for t in traces.values()}) == 1
    assert len({t.signature for t in traces.values()}) == len(traces)

"""Drawings lose nothing that an eye could see, and stay small."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planezip.records import platform
from planezip.report.bench import Bench
from planezip.report.evaluate import row_of
from planezip.report.pages import drawing
from planezip.report.pages.drawing import KINDS, chart
from planezip.report.pages.paths import HEIGHT, WIDTH, line, ticks
from toynet import build_capture, build_trace


def dashes(path):
    return [
        (float(a), float(a) + float(w)) for a, w in re.findall(r"M([\d.]+) 0h([\d.]+)", path or "")
    ]


def levels(path):
    """x -> level of a curve, at its corners."""
    return [(float(x), float(y)) for x, y in re.findall(r"H([\d.]+)V([\d.]+)", path)]


@pytest.fixture(scope="module")
def run(study, on_b_module):
    bench = Bench(study.trace("gpt2"), on_b_module, study.source("gpt2"))
    _, plan, timeline = row_of(bench, 50.0, "planezip", detail=True)
    return bench, plan, timeline


@pytest.fixture(scope="module")
def on_b_module():
    return platform("B")


def test_every_stream_and_kind_of_work_is_drawn(run):
    bench, plan, timeline = run
    made = chart(bench.trace, bench.platform, plan, timeline, timeline.duration_s)
    drawn = {kind for lane in made.lanes for kind in lane.paths}
    worked = {
        bench.trace.ops[plan.steps[e.step].op].phase if e.kind == "op" else e.kind
        for e in timeline.events
    }
    assert drawn == worked <= set(KINDS)
    assert made.kinds == [kind for kind in KINDS if kind in drawn]
    assert [lane.title for lane in made.lanes] == list(drawing.LANES.values())


def test_compression_in_place_is_drawn_and_has_colours():
    trace = build_trace()
    bench = Bench(trace, platform("A"), build_capture(trace))
    _, plan, timeline = row_of(bench, 42.0, "planezip+in-place", detail=True)
    made = chart(trace, bench.platform, plan, timeline, timeline.duration_s)
    assert {"encode", "decode"} <= set(made.kinds)
    style = (Path(drawing.__file__).parent / "templates" / "style.css").read_text()
    for kind in KINDS:
        assert f"--{kind}: #" in style


def test_all_work_is_covered_and_idle_streams_are_not(run):
    bench, plan, timeline = run
    made = chart(bench.trace, bench.platform, plan, timeline, timeline.duration_s)
    for lane, stream in zip(made.lanes, drawing.LANES, strict=True):
        spans = sorted(span for path in lane.paths.values() for span in dashes(path))
        for e in timeline.events:
            if e.stream == stream:
                start, end = (WIDTH * s / timeline.duration_s for s in (e.start_s, e.end_s))
                assert any(a <= start + 0.06 and b >= end - 0.11 for a, b in spans), e
        busy = sum(e.end_s - e.start_s for e in timeline.events if e.stream == stream)
        drawn = sum(b - a for a, b in spans)
        assert drawn <= WIDTH * busy / timeline.duration_s + 0.7 * len(spans)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1e-3)), max_size=300))
def test_thousands_of_spans_become_few_dashes(spans):
    many = [(start, start + length) for start, length in spans]
    path = line(many, WIDTH)
    found = dashes(path)
    assert len(found) <= min(len(many), WIDTH / 0.5 + 1)
    for start, end in many:
        assert any(a <= start * WIDTH + 0.06 and b >= end * WIDTH - 0.11 for a, b in found)


def test_no_peak_of_the_memory_is_lost(run):
    bench, plan, timeline = run
    made = chart(bench.trace, bench.platform, plan, timeline, timeline.duration_s)
    top = 1.08 * bench.peak_bytes
    highest = HEIGHT - min(y for _, y in levels(made.held))
    assert highest == pytest.approx(HEIGHT * timeline.peak_bytes / top, abs=0.06)
    assert highest <= HEIGHT * made.budget_pct / 100 + 0.06
    assert HEIGHT - min(y for _, y in levels(made.unlimited)) == pytest.approx(
        HEIGHT / 1.08, abs=0.06
    )
    assert made.end_pct == pytest.approx(100 * bench.unlimited_s / timeline.duration_s)


def test_a_longer_axis_makes_the_iteration_shorter(run):
    bench, plan, timeline = run
    made = chart(bench.trace, bench.platform, plan, timeline, 2 * timeline.duration_s)
    assert max(x for x, _ in levels(made.held)) <= WIDTH / 2 + 2
    assert max(b for lane in made.lanes for p in lane.paths.values() for _, b in dashes(p)) <= 501


def test_a_drawing_of_thousands_of_operators_stays_small(on_b_module):
    trace = build_trace(800)
    bench = Bench(trace, on_b_module, build_capture(trace))
    _, plan, timeline = row_of(bench, 50.0, "planezip", detail=True)
    assert len(timeline.events) > 3000
    made = chart(trace, on_b_module, plan, timeline, timeline.duration_s)
    paths = [p for lane in made.lanes for p in lane.paths.values()]
    assert sum(map(len, (*paths, made.held, made.unlimited))) < 80_000


@given(st.floats(1e-3, 1e6))
def test_ticks_are_a_few_round_numbers_within_the_axis(longest):
    made = ticks(longest, "ms")
    assert 3 <= len(made) <= 7
    assert made[0].at_pct == 0
    assert made[-1].at_pct <= 100.001
    assert made[-1].text.endswith(" ms")
    numbers = [float(t.text.removesuffix(" ms")) for t in made]
    assert numbers == sorted(set(numbers))

"""Plots are PNG files that do not depend on the run, and labels do not overlap."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planezip.planning import POLICIES
from planezip.records import platform
from planezip.report.evaluate import evaluate
from planezip.report.figures import MemoryPanel, memory_figure, ratio_figure, throughput_figure
from planezip.report.figures.style import POLICY_LOOK, spread
from planezip.report.ratios import ratios
from planezip.report.rows import INFEASIBLE, Row

PNG = b"\x89PNG\r\n\x1a\n"
positions = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def row(policy: str, budget_pct: float, throughput: float | None) -> Row:
    if throughput is None:
        return Row("toynet", "A", budget_pct, policy, None, None, None, None, None, INFEASIBLE)
    overhead = 100 * (1 / throughput - 1)
    return Row("toynet", "A", budget_pct, policy, overhead, throughput, 0, 0.0, 0.0, "one")


@given(positions)
def test_labels_keep_their_order_and_their_distance(wanted):
    placed = spread(wanted, gap=0.1)
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    steps = [placed[b] - placed[a] for a, b in itertools.pairwise(order)]
    assert all(step > 0.1 - 1e-9 for step in steps)


def test_labels_that_have_room_stay_where_they_are():
    assert spread([0.9, 0.1, 0.5], gap=0.1) == [0.9, 0.1, 0.5]


def test_every_policy_has_a_look_of_its_own():
    assert set(POLICY_LOOK) == set(POLICIES)
    assert len({(look["color"], look["marker"]) for look in POLICY_LOOK.values()}) == len(POLICIES)


def test_the_same_rows_give_the_same_plot(capture):
    rows = ratios(capture)
    first = ratio_figure(rows, ("bf16", "fp32"), {"bf16": 1.88})
    assert first.startswith(PNG)
    assert ratio_figure(rows, ("bf16", "fp32"), {"bf16": 1.88}) == first


@pytest.mark.parametrize("last", [0.8, 0.2, None])
def test_lines_that_end_fall_or_stop_are_drawn(last):
    rows = [row(p, b, t) for p in POLICIES for b, t in ((90.0, 0.95), (30.0, last))]
    assert throughput_figure(rows, {"A": "Platform A"}).startswith(PNG)


def test_a_platform_without_any_plan_is_drawn():
    rows = [row(p, 30.0, None) for p in POLICIES]
    assert throughput_figure(rows, {"A": "Platform A"}).startswith(PNG)


def test_memory_over_time_is_drawn(trace, capture):
    on = platform("B")
    (outcome,) = evaluate(trace, capture, [on], [50.0], ["planezip"])
    panel = MemoryPanel("Platform B", on, outcome.plan, outcome.timeline)
    assert memory_figure(trace, [panel]).startswith(PNG)

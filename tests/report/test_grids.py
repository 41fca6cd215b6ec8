"""Tables put the paper's figures beside ours and are regular."""

from dataclasses import replace

import pytest
from rich.console import Console

from planezip.records import platform
from planezip.report.contents import contents
from planezip.report.grid import Grid, markdown, number, print_grid
from planezip.report.grids import cost_grid, overhead_grid, ratio_grid, trace_grid
from planezip.report.machine import Machine, this_machine
from planezip.report.published import paper
from planezip.report.ratios import Ratio
from planezip.report.rows import INFEASIBLE, Row


def row(platform_name: str, budget_pct: float, policy: str, overhead: float | None) -> Row:
    kept = "one" if overhead is not None else INFEASIBLE
    return Row("resnet50", platform_name, budget_pct, policy, overhead, 0.9, 0, 0.0, 0.0, kept)


def test_all_tables_are_regular(trace, capture):
    for grid in contents(trace, capture, [platform("A"), platform("B")]).grids():
        assert grid.title
        assert {len(line) for line in grid.rows} == {len(grid.headers)}
        assert all(isinstance(cell, str) for line in grid.rows for cell in line)


def test_overheads_stand_beside_the_papers():
    rows = [row("B", b, p, o) for b, p, o in (
        (90.0, "bw", 1.0), (50.0, "bw", 12.34), (90.0, "planezip", 0.5), (50.0, "planezip", None),
    )]  # fmt: skip
    grid = overhead_grid([*rows, row("A", 50.0, "bw", 99.0)], platform("B"))
    assert grid.headers == ("policy", "90%", "50%", "paper 50%")
    assert list(grid.rows) == [("BW", "1.0", "12.3", "13.0"), ("PlaneZip", "0.5", "no plan", "9.0")]
    assert grid.rows[grid.strong][0] == "PlaneZip"


def test_a_policy_without_a_plan_has_dashes_for_its_costs():
    lost = Row("resnet50", "B", 50.0, "swap", None, None, None, None, None, INFEASIBLE)
    assert list(cost_grid([lost], platform("B"), 50.0).rows) == [
        ("SWAP", INFEASIBLE, "–", "–", "–", "–")
    ]


def test_small_models_have_sizes_that_do_not_read_0(trace):
    small = trace_grid(trace)
    assert small.rows[0][:2] == ("parameters", f"{trace.parameters:,}")
    assert small.rows[2][:2] == ("their size in FP32, MB", f"{trace.saved_bytes / 1e6:.1f}")
    named = trace_grid(replace(trace, model="gpt2"))  # beside the paper's, in its units
    assert [row[0] for row in named.rows[:3:2]] == [
        "parameters, millions",
        "their size in FP32, GB",
    ]


def test_swapped_bytes_have_a_unit_that_fits_them():
    swapped = Row("own", "B", 50.0, "bw", 1.0, 0.9, 2_500_000, 0.0, 0.0, "one")
    grid = cost_grid([swapped], platform("B"), 50.0)
    assert (grid.headers[-1], grid.rows[0][-1]) == ("swapped, MB", "2.50")


def test_a_trace_in_mixed_precision_is_called_so(trace):
    final = tuple(replace(s, final=True) for s in trace.storages)
    mixed = trace_grid(replace(trace, storages=final))
    assert mixed.rows[2][0] == "their size in mixed precision, MB"


@pytest.mark.parametrize(
    ("value", "digits", "said"), [(1.005, 1, "1.0"), (12345.6, 0, "12,346"), (None, 2, "–")]
)
def test_numbers_have_fixed_digits(value, digits, said):
    assert number(value, digits) == said


def test_a_table_prints_every_cell_and_no_markup():
    console = Console(width=80, record=True, file=None, quiet=False)
    with console.capture() as captured:
        print_grid(console, Grid("[bold]title", ("a", "b"), [("x", "1")], note="[why]"))
    for said in ("[bold]title", "a", "b", "x", "1", "[why]"):
        assert said in captured.get()


def test_random_weights_stand_beside_the_papers_random_weights():
    rows = [Ratio("resnet50", p, "planezip", 1.5) for p in ("bf16", "fp32")]
    assert list(ratio_grid(rows, "random").rows) == [["PlaneZip", "1.50", "1.78", "1.50", "–"]]
    warm = ratio_grid(rows, "random + 300 warm-up steps")
    assert list(warm.rows) == [["PlaneZip", "1.50", "1.88", "1.50", "1.57"]]


def test_markdown_has_a_line_for_every_row():
    text = markdown(Grid("Title", ("name", "n"), [("x", "1"), ("y", "2")], note="Why."))
    assert text == "**Title**\n\n| name | n |\n| :-- | --: |\n| x | 1 |\n| y | 2 |\n\nWhy."


def test_the_papers_figures_are_those_of_its_text():
    assert paper().models["resnet50"].ratio_bf16 == 1.88
    assert paper().overhead_pct("A", 50.0, "planezip") == 3.5
    assert paper().overhead_pct("B", 30.0, "bw") == 33.2
    assert paper().overhead_pct("B", 30.0, "recomp") is None
    assert paper().overhead_pct("A", 90.0, "bw") is None


def test_a_machine_has_a_folder_name_without_surprises():
    named = Machine("Intel(R) Xeon(R) CPU @ 2.20GHz", 4, 16.0, "Linux x86_64", "3.12.1")
    assert named.slug == "intel-xeon-4-cores"
    assert this_machine().cores >= 1
    assert this_machine().memory_gb > 0

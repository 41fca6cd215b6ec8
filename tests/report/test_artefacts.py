"""The paper's tables and figures, made from small measurements whose numbers are known."""

import csv
import io
from dataclasses import replace
from itertools import product
from statistics import geometric_mean, mean

import pytest

from planezip.errors import InputError
from planezip.planning import Effort
from planezip.records import Capture, Trace, WireSizes, load, op_seconds, platform, save
from planezip.records.capture import CODECS
from planezip.records.measurements import PAPER_MODELS
from planezip.report.artefacts import ARTEFACTS, chosen
from planezip.report.artefacts import fig4 as fig4_module
from planezip.report.artefacts import plus as plus_module
from planezip.report.artefacts import semantics as semantics_module
from planezip.report.artefacts.fig1 import TensorCost, summarise
from planezip.report.grid import markdown
from planezip.report.producers import categories
from planezip.report.ratios import ratio_of
from planezip.report.sequences import ITERATIONS
from planezip.report.study import Study
from toynet import CODEC_RATIOS, build_capture, build_trace

COLUMNS = {
    "table1": "model,params_millions,batch,saved_tensors,saved_gb,ops",
    "table3": "producer,share_min_pct,share_max_pct,zvc,bx,planezip,top_encoder,top_encoder_pct",
    "table4": "model,ratio_iter1,ratio_iter2,ratio_iter3,err_tensor_pct,err_optype_pct,"
    "err_global_pct,ratio_random_init",
    "fig3": "model,precision,codec,ratio",
    "bound": "model,platform,budget_pct,policy,overhead_pct,bound_pct,over_bound_pct",
    "fig1_tensors": "model,platform,tensor,bytes,swap_over_recompute",
    "fig1_summary": "platform,share_bytes_swap_slower_pct,median_ratio",
    "fig1b": "model,platform,codec,movable_pct",
    "fig4": "model,platform,budget_pct,policy,overhead_pct,throughput_norm,swapped_bytes,"
    "recompute_s,stall_s,kept_plan",
    "claims": "claim,platform,value",
    "fig5": "platform,policy,mean_overhead_pct",
    "fig6a": "gbps,policy,mean_overhead_pct",
    "fig6b": "gbps,policy,mean_overhead_pct",
    "hwcost": "lanes,ghz,gbps_per_direction,area_mm2,share_of_die_pct",
    "semantics": "model,platform,budget_pct,policy,semantics,overhead_pct",
    "in_place": "model,platform,budget_pct,policy,semantics,overhead_pct,bound_pct,swapped_bytes",
    "plus": "model,platform,budget_pct,policy,semantics,overhead_pct,bound_pct,evaluations",
    "dynamic": "model,platform,budget_pct,policy,iteration,tokens,sight,way,overhead_pct,"
    "recompute_s,stall_s,swapped_bytes,peak_bytes,budget_bytes",
    "dynamic_summary": "model,platform,budget_pct,policy,plan_hits,plan_misses,overhead_pct,"
    "first_overhead_pct,later_overhead_pct",
    "alignment": "model,unmatched_tensors,unmatched_pct",
    "symbols": "model,ratio_16bit,ratio_32bit",
    "weight_casts": "model,casts,cast_bytes,capture_batch,captured_pct,training_batch,"
    "training_pct,ratio,ratio_casts,ratio_others",
    "autocast": "model,producer,converted_share_pct,converted,autocast_share_pct,autocast,"
    "autocast_bf16_pct,converted_bf16,autocast_bf16",
}


def put(folder, model, layers, scale, names=("trained", "random")):
    trace = replace(build_trace(layers), model=model)
    save(folder / model / "trace.json.gz", trace)
    for name in names:
        captured = build_capture(trace, scale if name != "random" else scale / 2)
        save(folder / model / f"{name}.json.gz", captured)


def put_under_autocast(folder):
    """The network's first operator casts a weight."""
    trace = load(folder / "trace.json.gz", Trace)
    first, *others = trace.ops
    weights = tuple(s for s in first.reads if trace.storages[s].kind == "parameter")
    cast = replace(first, name="aten._to_copy.default", reads=weights)
    # Backward must read the cast for it to be saved.
    read = next(i for i, op in enumerate(others) if op.phase == "backward")
    others[read] = replace(others[read], reads=(*others[read].reads, *first.writes))
    mixed = replace(trace, ops=(cast, *others))
    save(folder / "trace_autocast.json.gz", mixed)
    save(folder / "autocast.json.gz", build_capture(mixed))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    for i, model in enumerate(PAPER_MODELS):
        put(folder, model, 8 + i, 0.6 + 0.1 * i)
    put(folder, "llama", 3, 3.0)
    put(folder, "gpt2", 12, 0.8)
    put_under_autocast(folder / "gpt2")
    for tokens in (256, 512):
        shorter = replace(build_trace(12, tokens * 4000), model="gpt2")
        save(folder / "gpt2" / f"trace_{tokens}.json.gz", shorter)
    with pytest.MonkeyPatch.context() as patch:
        for module in (fig4_module, semantics_module, plus_module):
            patch.setattr(module, "BUDGETS_PCT", (50.0,))
        yield Study(folder, jobs=1, effort=Effort(100, None))


def rows_of(name, measured):
    return ARTEFACTS[name].rows(measured)


@pytest.mark.parametrize("name", ARTEFACTS)
def test_columns_are_stable(name, measured):
    text = ARTEFACTS[name].files(rows_of(name, measured))[f"{name}.csv"].decode()
    assert text.splitlines()[0] == COLUMNS[name]
    assert len(text.splitlines()) > 1


@pytest.mark.parametrize("name", ARTEFACTS)
def test_every_row_is_shown_to_people(name, measured):
    rows = rows_of(name, measured)
    grid = ARTEFACTS[name].grid(rows)
    assert all(len(line) == len(grid.headers) for line in grid.rows)
    assert markdown(grid)


def test_table1_holds_every_traced_model(measured):
    rows = rows_of("table1", measured)
    assert [row.model for row in rows] == [*PAPER_MODELS, "llama"]
    trace = measured.trace("gpt2")
    gpt2 = rows[4]
    assert (gpt2.batch, gpt2.saved_tensors, gpt2.ops) == (4, len(trace.saved), len(trace.ops))
    assert gpt2.saved_gb == trace.saved_bytes / 1e9


def test_table3_ranges_over_the_papers_models_only(measured):
    without = Study(measured.folder)
    found = {row.producer: row for row in rows_of("table3", without)}
    shares = []
    for capture in measured.captures(PAPER_MODELS):
        total = sum(t.bytes for t in capture.iterations[0])
        relus = [t for t in capture.iterations[0] if "relu" in t.op_name]
        shares.append(100 * sum(t.bytes for t in relus) / total)
    row = found["ReLU output"]
    assert (row.share_min_pct, row.share_max_pct) == (min(shares), max(shares))
    assert (row.top_encoder, round(row.top_encoder_pct)) == ("zbx", 67)


def test_table3_shares_are_those_of_the_training_batch(tmp_path):
    put(tmp_path, "gpt2", 2, 1.0)
    path = tmp_path / "gpt2" / "trained.json.gz"
    captured = load(path, Capture)
    part = captured.iterations[0][:3]  # as if the smaller batch had saved less
    save(path, replace(captured, iterations=(part,), losses=(7.0,)))
    study = Study(tmp_path)
    trace = study.trace("gpt2")
    kinds = categories(trace)
    for row in rows_of("table3", study):
        mine = sum(trace.storages[s].bytes for s, kind in kinds.items() if kind == row.producer)
        assert row.share_max_pct == row.share_min_pct == 100 * mine / trace.saved_bytes


def test_table4_tells_trained_and_random_weights_apart(measured):
    for row in rows_of("table4", measured):
        assert row.ratio_iter1 < row.ratio_iter2 < row.ratio_iter3
        assert row.ratio_random_init < row.ratio_iter1
        assert 0 < row.err_tensor_pct <= row.err_optype_pct <= row.err_global_pct


def test_table4_leaves_empty_what_was_not_measured(tmp_path):
    put(tmp_path, "gpt2", 2, 1.0, ("random",))
    (row,) = rows_of("table4", Study(tmp_path))
    assert row.ratio_iter1 is row.err_tensor_pct is None
    assert row.ratio_random_init > 1
    assert list(ARTEFACTS["table4"].grid([row]).rows)


def test_one_iteration_has_no_errors(tmp_path):
    trace = replace(build_trace(2), model="gpt2")
    save(tmp_path / "gpt2" / "trace.json.gz", trace)
    captured = build_capture(trace)
    one = replace(captured, iterations=captured.iterations[:1], losses=captured.losses[:1])
    save(tmp_path / "gpt2" / "trained.json.gz", one)
    (row,) = rows_of("table4", Study(tmp_path))
    assert row.ratio_iter1 > 1
    assert row.ratio_iter2 is row.err_tensor_pct is row.err_global_pct is None


def test_fig3_means_are_geometric_and_over_the_five_models(measured):
    rows = {(r.model, r.precision, r.codec): r.ratio for r in rows_of("fig3", measured)}
    assert {codec for _, _, codec in rows} == set(CODEC_RATIOS)
    for precision in ("bf16", "fp32"):
        five = [rows[model, precision, "planezip"] for model in PAPER_MODELS]
        assert rows["geomean", precision, "planezip"] == geometric_mean(five)
    assert ("llama", "bf16", "zvc") in rows


def test_there_is_no_mean_over_fewer_models(tmp_path):
    put(tmp_path, "resnet50", 2, 1.0)
    assert "geomean" not in {r.model for r in rows_of("fig3", Study(tmp_path))}


def test_fig3_is_drawn_twice_the_same(measured):
    first, second = (ARTEFACTS["fig3"].files(rows_of("fig3", measured)) for _ in range(2))
    assert first == second
    assert first["fig3.png"].startswith(b"\x89PNG")
    assert b"<svg" in first["fig3.svg"]


def test_autocast_is_beside_the_converted_capture(measured):
    rows = [r for r in rows_of("autocast", measured) if r.producer == "all"]
    (row,) = rows
    assert row.model == "gpt2"
    assert row.converted_share_pct == row.autocast_share_pct == 100
    assert row.autocast_bf16_pct == 0  # the small network holds FP32 alone
    assert row.converted_bf16 is row.autocast_bf16 is None


def test_real_bf16_tensors_are_compared_with_the_rounded_ones_alone(tmp_path):
    put(tmp_path, "gpt2", 3, 1.0, ("trained", "autocast"))
    path = tmp_path / "gpt2" / "autocast.json.gz"
    captured = load(path, Capture)
    relus = [t for t in captured.iterations[0] if "relu" in t.op_name]
    *real, kept = (replace(t, final=True) for t in relus)
    real = [replace(t, dtype="bfloat16") for t in real]
    save(path, replace(captured, iterations=((*real, kept),), losses=(7.0,)))
    rows = {row.producer: row for row in rows_of("autocast", Study(tmp_path))}
    row = rows["ReLU output"]
    assert 0 < row.autocast_bf16_pct < 100
    assert row.autocast_bf16 == ratio_of(real, "fp32", "planezip") != row.autocast
    assert row.converted_bf16 == row.converted == ratio_of(relus, "bf16", "planezip")
    assert rows["Input batch"].converted_bf16 is rows["Input batch"].autocast_bf16 is None
    assert rows["all"].converted_bf16 is rows["all"].autocast_bf16 is None


def test_csv_cells_are_numbers_or_empty(measured):
    text = ARTEFACTS["table4"].files(rows_of("table4", measured))["table4.csv"].decode()
    for line in csv.DictReader(io.StringIO(text)):
        assert all(float(cell) > 0 for name, cell in line.items() if name != "model")


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"'table2'.*table1, hwcost, fig3"):
        chosen(["table1", "table2"])
    assert [a.name for a in chosen(["fig3", "table1"])] == ["table1", "fig3"]
    assert [a.name for a in chosen([])] == list(ARTEFACTS)


def test_every_configuration_has_a_row_for_every_policy(measured):
    rows = rows_of("fig4", measured)
    configurations = {(r.model, r.platform, r.budget_pct) for r in rows}
    assert len(configurations) == (len(PAPER_MODELS) + 1) * 2
    assert len(rows) == 6 * len(configurations)


def test_figure_6_passes_through_figure_4(measured):
    overheads = {
        (r.model, r.policy): r.overhead_pct
        for r in rows_of("fig4", measured)
        if (r.platform, r.budget_pct) == ("B", 50.0)
    }
    for name, gbps, policies in (("fig6a", 24, ("recomp", "bw")), ("fig6b", 64, ("planezip",))):
        found = {(r.gbps, r.policy): r.mean_overhead_pct for r in rows_of(name, measured)}
        for policy in policies:
            five = [overheads[m, policy] for m in PAPER_MODELS]
            assert found[gbps, policy] == pytest.approx(mean(five))


def test_an_engine_as_fast_as_the_link_never_helps(measured):
    found = {(r.gbps, r.policy): r.mean_overhead_pct for r in rows_of("fig6b", measured)}
    assert found[24, "planezip"] == found[24, "bw"]
    assert found[128, "planezip"] <= found[24, "planezip"]


def test_hardware_cost_at_the_papers_point_is_the_papers(measured):
    found = {(r.lanes, r.ghz): r for r in rows_of("hwcost", measured)}
    row = found[4, 1.5]
    assert row.gbps_per_direction == 96
    assert (round(row.area_mm2, 3), round(row.share_of_die_pct, 3)) == (0.036, 0.004)


def test_figure_1_weighs_tensors_by_bytes():
    def cost(size, ratio):
        return TensorCost("net", "A", 0, size, ratio)

    rows = [cost(1, 0.5), cost(3, 20.0), cost(2, 4.0), cost(99, None)]
    (summary,) = summarise(rows)
    assert summary.share_bytes_swap_slower_pct == pytest.approx(100 * 5 / 6)
    assert summary.median_ratio == 4.0


@pytest.mark.parametrize(("size", "ratio"), [(0, 2.0), (5, None)])
def test_figure_1_has_no_shares_of_nothing(size, ratio):
    rows = [TensorCost("net", "A", 0, size, ratio), TensorCost("net", "B", 0, 1, 2.0)]
    assert [summary.platform for summary in summarise(rows)] == ["B"]
    assert list(ARTEFACTS["fig1_tensors"].grid(rows).rows)
    assert ARTEFACTS["fig1_tensors"].files(rows)["fig1_tensors.png"]
    assert ARTEFACTS["fig1_summary"].files(summarise(rows[:1]))


def test_table3_shares_nothing_among_tensors_without_bytes(tmp_path):
    whole = build_trace(2)
    storages = tuple(replace(s, bytes=0) if s.id in whole.saved else s for s in whole.storages)
    save(tmp_path / "gpt2" / "trace.json.gz", replace(whole, model="gpt2", storages=storages))
    captured = replace(build_capture(whole), model="gpt2")
    empty = WireSizes(0, dict.fromkeys(CODECS, 0), {}, 0)
    tensors = tuple(
        replace(t, bytes=0, sizes={"fp32": empty, "bf16": empty}) for t in captured.iterations[0]
    )
    save(
        tmp_path / "gpt2" / "trained.json.gz",
        replace(captured, iterations=(tensors,), losses=(1.0,)),
    )
    rows = rows_of("table3", Study(tmp_path))
    assert {(row.share_max_pct, row.planezip, row.top_encoder_pct) for row in rows} == {(0, 1, 0)}
    assert list(ARTEFACTS["table3"].grid(rows).rows)


def test_what_the_link_can_move_is_the_shorter_pass_over_all_transfers(measured):
    trace, on = measured.trace("gpt2"), platform("B")
    seconds = op_seconds(trace, on)
    passes = [
        sum(seconds[op.index] for op in trace.ops if op.phase == phase)
        for phase in ("forward", "backward")
    ]
    saved = sum(trace.storages[s].bytes_at("bf16") for s in trace.saved)
    (row,) = [
        r
        for r in rows_of("fig1b", measured)
        if (r.model, r.platform, r.codec) == ("gpt2", "B", "none")
    ]
    assert row.movable_pct == pytest.approx(100 * min(passes) * 24e9 / saved)


def test_no_policy_is_below_its_bound(measured):
    rows = rows_of("bound", measured)
    assert len(rows) == len(rows_of("fig4", measured))
    for row in rows:
        if row.overhead_pct is not None:
            assert row.bound_pct <= row.overhead_pct + 1e-6
            assert (100 + row.bound_pct) * (100 + row.over_bound_pct) == pytest.approx(
                100 * (100 + row.overhead_pct)
            )


def test_both_semantics_are_reported_for_every_policy(measured):
    rows = rows_of("semantics", measured)
    assert {r.semantics for r in rows} == {"freed", "kept"}
    assert len(rows) == 2 * len(rows_of("fig4", measured))
    swap = [(r.model, r.platform, r.budget_pct, r.overhead_pct) for r in rows if r.policy == "swap"]
    assert len(set(swap)) == len(swap) / 2  # who replays nothing has one semantics


def test_planezip_plus_stands_between_the_portfolio_and_the_bound(measured):
    rows = rows_of("plus", measured)
    found = {(r.model, r.platform, r.policy, r.semantics): r for r in rows}
    assert len(found) == len(rows)
    for row in rows:
        assert row.bound_pct <= row.overhead_pct + 1e-6
        assert row.evaluations == (100 if row.policy == "planezip+" else 0)
        before = found[row.model, row.platform, "planezip", "kept"]
        if row.policy == "planezip+":
            # The ratios are the same in both iterations of these captures.
            assert row.overhead_pct <= before.overhead_pct
            assert row.bound_pct == before.bound_pct


def test_compressing_in_place_is_never_slower_and_has_a_bound_of_its_own(measured):
    rows = rows_of("in_place", measured)
    assert {(r.policy, r.semantics) for r in rows} == set(
        product(("planezip", "planezip+in-place"), ("freed", "kept"))
    )
    found = {(r.model, r.platform, r.budget_pct, r.policy, r.semantics): r for r in rows}
    assert len(found) == len(rows)
    for (model, name, budget, policy, semantics), row in found.items():
        if row.overhead_pct is not None:
            assert row.bound_pct <= row.overhead_pct + 1e-6
        if policy == "planezip+in-place":
            # The ratios are the same in both iterations of these captures.
            without = found[model, name, budget, "planezip", semantics]
            assert without.overhead_pct is None or row.overhead_pct <= without.overhead_pct
            assert without.bound_pct is None or row.bound_pct <= without.bound_pct + 1e-6


def test_trainings_are_summed_up_from_their_iterations(measured):
    rows = rows_of("dynamic", measured)
    summaries = rows_of("dynamic_summary", measured)
    assert len(rows) == len(summaries) * ITERATIONS
    for summary in summaries:
        mine = [
            r
            for r in rows
            if r.policy == summary.policy
            and r.platform == summary.platform
            and r.budget_pct == summary.budget_pct
        ]
        assert all(r.peak_bytes is None or r.peak_bytes <= r.budget_bytes for r in mine)
        if summary.plan_hits is not None:
            assert summary.plan_hits == sum(r.way != "online" for r in mine)
            assert summary.plan_hits + summary.plan_misses == ITERATIONS
        first = [r.overhead_pct for r in mine if r.sight == 1]
        if None not in first:
            assert min(first) <= summary.first_overhead_pct <= max(first)


@pytest.mark.parametrize("name", ["fig1_tensors", "fig1b", "fig4", "fig5", "fig6a", "fig6b"])
def test_every_figure_is_a_png_and_an_svg_and_drawn_twice_the_same(name, measured):
    rows = rows_of(name, measured)
    first, second = (ARTEFACTS[name].files(rows) for _ in range(2))
    assert first == second
    assert first[f"{name}.png"].startswith(b"\x89PNG")
    assert b"<svg" in first[f"{name}.svg"]


def test_figures_without_some_means_are_drawn(measured):
    for name in ("fig5", "fig6a"):
        rows = [replace(r, mean_overhead_pct=None) for r in rows_of(name, measured)]
        assert ARTEFACTS[name].files(rows)[f"{name}.png"]

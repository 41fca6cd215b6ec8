"""A study plans every task once, in as many processes as one likes, and knows what it cannot do."""

from dataclasses import replace
from statistics import mean

import pytest

from planezip.errors import InputError
from planezip.records import platform, save
from planezip.records.measurements import PAPER_MODELS
from planezip.report import study as module
from planezip.report.bench import Bench
from planezip.report.evaluate import row_of
from planezip.report.study import Study, Task
from planezip.report.variants import VARIANTS, variant
from toynet import build_capture, build_trace

B = platform("B")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All five models, traced; the first two captured."""
    path = tmp_path_factory.mktemp("measured")
    for i, model in enumerate(PAPER_MODELS):
        trace = replace(build_trace(8 + i), model=model)
        save(path / model / "trace.json.gz", trace)
        if i < 2:
            save(path / model / "trained.json.gz", build_capture(trace))
    return path


def tasks(*policies):
    return [Task(m, B, budget, p) for m in PAPER_MODELS for budget in (70, 50) for p in policies]


def test_rows_are_those_of_a_bench(folder):
    study = Study(folder, jobs=1)
    (row,) = study.rows([Task("resnet50", B, 50, "planezip")])
    bench = Bench(study.trace("resnet50"), B, study.capture("resnet50"))
    assert row == row_of(bench, 50, "planezip")[0]


def test_more_processes_give_the_same_rows(folder):
    chosen = tasks("dte", "bw")
    assert Study(folder, "paper", 2).rows(chosen) == Study(folder, "paper", 1).rows(chosen)


def test_what_was_planned_once_is_not_planned_again(folder, monkeypatch):
    study = Study(folder, jobs=1)
    rows = study.rows(tasks("recomp"))
    monkeypatch.setattr(module, "_Work", None)
    assert study.rows(tasks("recomp")) == rows


def test_progress_counts_tasks(folder):
    seen = []
    Study(folder, jobs=1).run(tasks("recomp", "dte"), lambda *done: seen.append(done))
    assert seen == [(i, 20) for i in range(2, 21, 2)]


def test_models_without_a_capture_are_left_out_where_ratios_matter(folder):
    study = Study(folder, jobs=1)
    assert {row.model for row in study.rows(tasks("planezip"))} == set(PAPER_MODELS[:2])
    assert {row.model for row in study.rows(tasks("bw"))} == set(PAPER_MODELS)
    assert study.mean_overhead_pct(B, 50, "planezip") is None


def test_the_mean_is_over_the_five_models(folder):
    study = Study(folder, "paper", 1)
    rows = study.rows([Task(m, B, 50, "planezip") for m in PAPER_MODELS])
    assert study.mean_overhead_pct(B, 50, "planezip") == mean(r.overhead_pct for r in rows)


def test_with_the_papers_ratios_what_needs_a_capture_is_left_out(folder):
    needs = [name for name in VARIANTS if not Study(folder, "paper").can(Task("gpt2", B, 30, name))]
    assert needs == ["planezip-w32", "planezip-optype", "planezip-oracle"]


def test_an_unaware_plan_is_bws_with_shorter_transfers(folder):
    study = Study(folder, jobs=1)
    bench = Bench(study.trace("resnet50"), B, study.capture("resnet50"))
    budget = bench.budget_bytes(50)
    plan = bench.best_plan("bw+codec", budget)
    assert plan == bench.best_plan("bw", budget)
    assert plan.swaps
    raw, compressed = bench.run(plan), bench.run(plan, codec="planezip")
    assert compressed.wire_bytes < raw.wire_bytes == raw.swapped_bytes


def test_oracle_ratios_are_those_of_the_transfers(folder):
    study = Study(folder, jobs=1)
    bench = Bench(study.trace("resnet50"), B, study.capture("resnet50"))
    plan = bench.best_plan("planezip-oracle", bench.budget_bytes(50))
    assert bench.predict(plan) == bench.run(plan, codec="planezip")


def test_compression_makes_eq_1_choose_more_swaps(folder):
    slow = replace(B, peak_flops_per_s=1e12)
    study = Study(folder, "paper", 1)
    rows = study.rows([Task("gpt2", slow, 50, p) for p in ("dte", "dte+codec")])
    assert rows[0].overhead_pct >= rows[1].overhead_pct


def test_an_unknown_variant_is_named():
    with pytest.raises(InputError, match=r"'magic'.*planezip-oracle"):
        variant("magic")

"""plan, simulate, inspect and report work on files, alone and one after the other."""

import gzip
import json
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from planezip.cli.inputs import refuse_to_share
from planezip.errors import PlanOverflowError, WorkerError
from planezip.records import (
    Plan,
    Timeline,
    Trace,
    load,
    peak_activation_bytes,
    save,
    to_json,
)
from planezip.report.bench import Bench


@pytest.fixture
def peak_bytes(trace) -> int:
    return peak_activation_bytes(trace, "bf16")


def test_a_plan_is_printed_and_written(here, succeed, peak_bytes):
    text = succeed("plan", "trace.json.gz", "--budget", "50%", "-o", "plan.json")
    plan = load("plan.json", Plan)
    assert (plan.platform, plan.policy, plan.budget_bytes) == ("B", "planezip", peak_bytes // 2)
    for said in ("toynet on platform B", plan.candidate, "keep", "swap", "drop", "50%"):
        assert said in text


@pytest.mark.parametrize(
    ("budget", "share"), [("50%", 0.5), ("62.5 %", 0.625), ("9MB", 0.5), ("9000000", 0.5)]
)
def test_budgets_are_shares_of_the_peak_or_sizes(here, succeed, peak_bytes, budget, share):
    told = json.loads(succeed("plan", "trace.json.gz", "--budget", budget, "--json"))
    assert peak_bytes == 18_000_000
    assert told["budget_bytes"] == peak_bytes * share
    assert told["peak_bytes"] <= told["budget_bytes"]


def test_json_says_what_the_table_says(here, succeed):
    arguments = ("plan", "trace.json.gz", "--budget", "50%", "--platform", "A")
    told = json.loads(succeed(*arguments, "--json"))
    assert sum(told["tensors"].values()) == 8
    assert told["overhead_pct"] == pytest.approx(
        100 * (told["duration_s"] / told["unlimited_s"] - 1)
    )
    assert f"{told['overhead_pct']:.1f}%" in succeed(*arguments)


def test_a_capture_lets_the_plan_compress(here, succeed):
    arguments = ("plan", "trace.json.gz", "--budget", "50%", "--json")
    raw = json.loads(succeed(*arguments))
    compressed = json.loads(succeed(*arguments, "--capture", "capture.json"))
    assert raw["wire_bytes"] == raw["swapped_bytes"]
    assert compressed["wire_bytes"] < compressed["swapped_bytes"]


def test_the_papers_ratios_stand_in_for_a_capture(here, succeed):
    arguments = ("plan", "trace.json.gz", "--budget", "50%", "--ratios", "paper")
    told = json.loads(succeed(*arguments, "-o", "plan.json", "--json"))
    assert told["wire_bytes"] < told["swapped_bytes"]
    assert set(load("plan.json", Plan).ratios.values()) <= {1.0, 1.45, 3.21}
    simulated = json.loads(
        succeed("simulate", "trace.json.gz", "plan.json", "--ratios", "paper", "--json")
    )
    assert simulated["duration_s"] == told["duration_s"]
    succeed("report", "trace.json.gz", "--ratios", "paper", "--budget", 50, "-o", "out")
    assert "Table III of the paper" in (here / "out/report.html").read_text()


def test_a_search_is_repeated_by_its_seed_and_evaluations(here, succeed):
    arguments = ("plan", "trace.json.gz", "--budget", "40%", "--policy", "planezip+")
    first = ("--evaluations", "300", "--seed", 7, "--seconds", 1000, "-o", "a", "--json")
    told = json.loads(succeed(*arguments, *first))
    assert (told["policy"], told["evaluations"], told["seed"]) == ("planezip+", 300, 7)
    assert "plans tried in the search" in succeed(*arguments, "--evaluations", "300")
    again = ("--evaluations", told["evaluations"], "--seed", 7, "--seconds", 1000, "-o", "b")
    succeed(*arguments, *again)
    assert load("a", Plan) == load("b", Plan)
    succeed("simulate", "trace.json.gz", "a")


def test_a_plan_is_set_beside_a_bound(here, succeed):
    arguments = ("plan", "trace.json.gz", "--budget", "50%", "--bound")
    told = json.loads(succeed(*arguments, "--json"))
    assert told["unlimited_s"] <= told["bound_s"] <= told["duration_s"]
    assert "at most once" in told["bound_class"]  # of what plans it speaks
    assert told["over_bound_pct"] == pytest.approx(100 * (told["duration_s"] / told["bound_s"] - 1))
    assert f"{told['bound_overhead_pct']:.1f}%" in succeed(*arguments)


def test_a_plan_that_compresses_in_place_is_told_simulated_and_drawn(here, succeed):
    arguments = ("plan", "trace.json.gz", "--platform", "A", "--budget", "42%")
    arguments += ("--capture", "capture.json", "--bound")
    chosen = ("--policy", "planezip+in-place", "-o", "p.json")
    told = json.loads(succeed(*arguments, *chosen, "--json"))
    without = json.loads(succeed(*arguments, "--json"))
    assert told["tensors"]["compress"] == 1 > without["tensors"]["compress"] == 0
    assert told["bound_s"] <= told["duration_s"] <= without["duration_s"]
    assert told["bound_s"] <= without["bound_s"]
    assert re.search(r"compress +1 ", succeed(*arguments, *chosen))
    assert "1 compress" in succeed("inspect", "p.json")
    succeed("simulate", "trace.json.gz", "p.json", "-o", "t.json", "--perfetto", "view.json")
    kinds = [event.kind for event in load("t.json", Timeline).events]
    assert kinds.count("encode") == kinds.count("decode") == 1
    names = {event["name"] for event in json.loads(Path("view.json").read_text())["traceEvents"]}
    (compressed,) = (s for s, a in load("p.json", Plan).actions.items() if a == "compress")
    assert {f"encode {compressed}", f"decode {compressed}"} <= names


def test_two_sources_of_ratios_are_one_too_many(here, refuse):
    arguments = ("--ratios", "paper", "--capture", "capture.json", "--budget", "50%")
    assert "give one" in refuse("plan", "trace.json.gz", *arguments)


def test_a_budget_below_every_plan_names_the_smallest(here, refuse, succeed, peak_bytes):
    line = refuse("plan", "trace.json.gz", "--budget", "5%")
    smallest, share = re.search(r"is (\d+) bytes \(([\d.]+)% of the peak\)", line).groups()
    assert 0.05 * peak_bytes < int(smallest) < 0.5 * peak_bytes
    succeed("plan", "trace.json.gz", "--budget", smallest)
    succeed("plan", "trace.json.gz", "--budget", f"{share}%")


def test_a_written_plan_can_be_simulated(here, succeed, trace):
    succeed("plan", "trace.json.gz", "--budget", "50%", "--capture", "capture.json", "-o", "p.json")
    text = succeed(
        "simulate", "trace.json.gz", "p.json", "-o", "timeline.json", "--perfetto", "view.json"
    )
    timeline = load("timeline.json", Timeline)
    assert f"{timeline.duration_s * 1e3:,.2f} ms" in text
    assert timeline.events
    assert json.loads((here / "view.json").read_text())["traceEvents"]
    assert timeline.duration_s == pytest.approx(load("p.json", Plan).predicted_s)


def test_simulation_transfers_with_the_next_iteration(here, succeed):
    succeed("plan", "trace.json.gz", "--budget", "50%", "--capture", "capture.json", "-o", "p.json")
    arguments = ("simulate", "trace.json.gz", "p.json", "--json")
    predicted = json.loads(succeed(*arguments))
    measured = json.loads(succeed(*arguments, "--capture", "capture.json"))
    assert measured["swapped_bytes"] == predicted["swapped_bytes"]
    assert measured["wire_bytes"] < predicted["wire_bytes"]


@pytest.mark.parametrize("kind", ["stream", "trace", "capture", "plan", "timeline"])
def test_inspect_tells_the_kinds_apart(here, succeed, kind):
    (here / "data").write_bytes(bytes(5000))
    succeed("compress", "data", "-o", "stream")
    succeed("plan", "trace.json.gz", "--budget", "50%", "-o", "plan")
    succeed("simulate", "trace.json.gz", "plan", "-o", "timeline")
    name = {"trace": "trace.json.gz", "capture": "capture.json"}.get(kind, kind)
    told = json.loads(succeed("inspect", name, "--json"))
    assert told["kind"] == kind
    assert len(succeed("inspect", name).split("\n")) > 4


def test_inspecting_a_trace_gives_its_summary(here, succeed, trace):
    told = json.loads(succeed("inspect", "trace.json.gz", "--json"))
    assert told["summary"]["saved_tensors"] == len(trace.saved)
    assert told["summary"]["saved_gb"] == trace.saved_bytes / 1e9
    assert sum(told["ops_by_phase"].values()) == len(trace.ops)
    assert told["peak_bytes"] == {"fp32": 36_000_000, "bf16": 18_000_000}


def test_a_report_is_written_and_told(here, succeed):
    arguments = ("report", "trace.json.gz", "--capture", "capture.json", "-o", "out/report")
    told = json.loads(succeed(*arguments, "--platform", "B", "--budget", "50", "--json"))
    assert len(told["overheads"]) == 6
    assert {row["platform"] for row in told["overheads"]} == {"B"}
    assert all((here / file).is_file() for file in told["files"])
    assert told["files"][0] == "out/report/report.html"
    text = succeed(*arguments, "--platform", "B", "--budget", "50")
    assert "Overhead over unlimited memory" in text
    assert "out/report/report.html" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan", "none.json", "--budget", "50%"], "cannot read none.json"),
        (["plan", "folder/", "--budget", "50%"], "folder"),
        (["plan", "resnet51", "--budget", "50%"], "unknown model 'resnet51'"),
        (["plan", "trace.json.gz", "--budget", "50%", "--platform", "C"], "'C'"),
        (["plan", "trace.json.gz", "--budget", "half"], "'half' is not a budget"),
        (["plan", "trace.json.gz", "--budget", "50%", "--policy", "best"], "'best'"),
        (["plan", "trace.json.gz", "--budget", "50%", "--capture", "no.json"], "no.json"),
        (["plan", "trace.json.gz", "--budget", "50%", "-o", "folder"], "cannot write folder"),
        (["plan", "capture.json", "--budget", "50%"], "not a valid Trace"),
        (["simulate", "trace.json.gz", "none.json"], "cannot read none.json"),
        (["simulate", "trace.json.gz", "capture.json"], "not a valid Plan"),
        (["report", "trace.json.gz", "-o", "capture.json"], "capture.json"),
        (["report", "trace.json.gz", "-o", "out", "--platform", "C"], "'C'"),
        (["report", "trace.json.gz", "-o", "out", "--budget", "0"], "--budget"),
        (["inspect", "none.json"], "cannot read none.json"),
    ],
)
def test_bad_input_is_named_in_one_line(here, refuse, arguments, said):
    (here / "folder").mkdir()
    assert said in refuse(*arguments)


@pytest.mark.parametrize("command", ["plan", "inspect"])
@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"ops": 1}', b"\xff\xfe", b"[]", gzip.compress(b"{}")[:-3]]
)
def test_damaged_json_is_named_in_one_line(here, refuse, command, content):
    (here / "bad.json.gz").write_bytes(content)
    (here / "bad.json").write_bytes(content)
    options = ["--budget", "50%"] if command == "plan" else []
    assert "bad.json" in refuse(command, "bad.json", *options)
    assert "bad.json.gz" in refuse(command, "bad.json.gz", *options)


def edited(record, kind, **changes) -> object:
    return {**json.loads(to_json(record)), **changes}


def test_a_trace_that_does_not_hold_together_is_named(here, refuse, trace):
    ops = json.loads(to_json(trace))["ops"]
    ops[3]["reads"] = [10_000]
    save("odd.json", edited(trace, Trace, ops=ops))
    assert "operator 3" in refuse("plan", "odd.json", "--budget", "50%")
    save("odd.json", edited(trace, Trace, storages=list(reversed(trace.storages))))
    assert "storages" in refuse("plan", "odd.json", "--budget", "50%")


def test_a_plan_for_something_else_is_named(here, succeed, refuse):
    succeed("plan", "trace.json.gz", "--budget", "50%", "-o", "plan.json")
    plan = load("plan.json", Plan)
    for changes in (
        {"model": "other"},
        {"steps": [replace(plan.steps[0], op=10_000), *plan.steps[1:]]},
        {"steps": [replace(plan.steps[0], free=(10_000,)), *plan.steps[1:]]},
        {"steps": [replace(plan.steps[0], replay_for=10_000), *plan.steps[1:]]},
        {"actions": {**plan.actions, 10_000: "keep"}, "ratios": {**plan.ratios, 10_000: 1.0}},
        {"swaps": [replace(plan.swaps[0], storage=10_000)]},
        {"scratch": [10_000]},
    ):
        save("odd.json", edited(plan, Plan, **changes))
        assert "another trace" in refuse("simulate", "trace.json.gz", "odd.json")


def test_a_plan_that_breaks_a_rule_is_not_simulated(here, succeed, refuse):
    succeed("plan", "trace.json.gz", "--budget", "50%", "-o", "plan.json")
    plan = load("plan.json", Plan)
    for changes, said in (
        ({"steps": plan.steps[1:]}, "does not run every operator"),
        ({"budget_bytes": plan.budget_bytes // 4}, f"a budget of {plan.budget_bytes // 4}"),
        ({"swaps": []}, "are not what the actions say"),
    ):
        save("odd.json", edited(plan, Plan, **changes))
        line = refuse("simulate", "trace.json.gz", "odd.json")
        assert line.startswith("planezip: odd.json was made for another trace, or was changed")
        assert said in line
        assert line.endswith("make a new one with `planezip plan`\n")
    for changes in ({"platform": "C"}, {"policy": "C"}):
        save("odd.json", edited(plan, Plan, **changes))
        line = refuse("simulate", "trace.json.gz", "odd.json")
        assert line.startswith("planezip: odd.json: unknown p")
        assert "'C'" in line


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "plan.json was made for another trace, or was changed since: step 3 needs 9 bytes"),
        (("--capture", "capture.json"), "the ratios of capture.json: step 3 needs 9 bytes"),
        (("--ratios", "paper"), "the ratios of the paper's Table III: step 3 needs 9 bytes"),
    ],
)
def test_a_plan_that_overflows_is_named_with_what_to_do(
    here, succeed, refuse, monkeypatch, options, said
):
    def overflow(*arguments, **options):
        raise PlanOverflowError(3, 9, 8)

    succeed("plan", "trace.json.gz", "--budget", "50%", "-o", "plan.json")
    monkeypatch.setattr(Bench, "run", overflow)
    line = refuse("simulate", "trace.json.gz", "plan.json", *options)
    assert said in line
    assert "plan with those ratios" in line if options else "`planezip plan`" in line


@pytest.mark.parametrize("bad", ["/proc/x/y", "/dev/full"])
def test_both_files_of_a_simulation_are_written_or_neither(here, succeed, refuse, bad):
    succeed("plan", "trace.json.gz", "--budget", "50%", "-o", "plan.json")
    for options in (("-o", "new", "--perfetto", bad), ("-o", bad, "--perfetto", "new")):
        assert bad in refuse("simulate", "trace.json.gz", "plan.json", *options)
        assert not (here / "new").exists()


def test_what_is_asked_for_twice_is_reported_once(here, succeed):
    twice = ("--platform", "B") * 2 + ("--budget", 70.00001, "--budget", 50, "--budget", 70.00002)
    told = json.loads(succeed("report", "trace.json.gz", "-o", "out", *twice, "--json"))
    rows = [(row["platform"], row["budget_pct"], row["policy"]) for row in told["overheads"]]
    assert len(rows) == len(set(rows)) == 2 * 6
    assert {budget for _, budget, _ in rows} == {70.00001, 50.0}
    ids = re.findall(r'\bid="([^"]*)"', (here / "out/report.html").read_text())
    assert len(ids) == len(set(ids)) >= 2


def test_a_capture_of_another_model_is_named(here, refuse, capture):
    save("odd.json", edited(capture, None, model="other"))
    for command in (
        ("plan", "trace.json.gz", "--budget", "50%"),
        ("report", "trace.json.gz", "-o", "out"),
    ):
        assert "odd.json is of other" in refuse(*command, "--capture", "odd.json")
    save("odd.json", edited(capture, None, iterations=[]))
    assert "odd.json" in refuse("plan", "trace.json.gz", "--budget", "50%", "--capture", "odd.json")


@pytest.mark.parametrize("budget", ["9" * 400, "9" * 400 + "%", "9" * 5000 + "GB", "10EB"])
def test_a_budget_larger_than_any_size_is_named(here, refuse, budget):
    assert budget in refuse("plan", "trace.json.gz", "--budget", budget)


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "trace.json.gz", "-o", "out", "--budget", "nan"),
        ("plan", "trace.json.gz", "--policy", "planezip+", "--budget", "50%", "--seconds", "nan"),
        ("capture", "resnet50", "--seed", "-1"),
        ("capture", "resnet50", "--seed", 10**22),
        ("capture", "resnet50", "--warmup-steps", 10**22),
        ("capture", "resnet50", "--iterations", 10**22),
        ("trace", "resnet50", "--batch", 10**20),
        ("compress", "capture.json", "--threads", 10**20),
    ],
)
def test_numbers_out_of_range_are_wrong_usage(here, refuse, arguments):
    assert str(arguments[-2]) in refuse(*arguments)
    assert sorted(p.name for p in here.iterdir()) == ["capture.json", "trace.json.gz"]


def test_a_name_that_no_file_can_have_is_no_model(here, refuse):
    assert "unknown model" in refuse("plan", "n" * 300, "--budget", "50%")


def test_no_file_is_written_twice_or_over_what_was_read(here, succeed, refuse):
    succeed("plan", "trace.json.gz", "--budget", "50%", "-o", "plan.json")
    (here / "same.json").symlink_to("x.json")
    simulate = ("simulate", "trace.json.gz", "plan.json")
    assert "--perfetto" in refuse(*simulate, "-o", "x.json", "--perfetto", "same.json")
    assert "-o plan.json" in refuse(*simulate, "-o", "plan.json")
    assert "-o" in refuse("plan", "trace.json.gz", "--budget", "50%", "-o", "trace.json.gz")
    refuse_to_share({"-o": Path("/dev/null"), "--perfetto": Path("/dev/null")}, "/dev/stdin")


@pytest.mark.parametrize("command", ["plan", "inspect"])
def test_the_name_does_not_say_whether_a_record_is_compressed(here, succeed, command):
    options = ["--budget", "50%"] if command == "plan" else []
    (here / "trace.json").write_bytes((here / "trace.json.gz").read_bytes())
    (here / "plain.json.gz").write_bytes(gzip.decompress((here / "trace.json.gz").read_bytes()))
    for name in ("trace.json", "plain.json.gz"):
        assert "toynet" in succeed(command, name, *options)


def test_a_worker_that_was_killed_is_told_in_one_line(here, planezip, monkeypatch):
    def killed(*arguments):
        raise WorkerError

    monkeypatch.setattr(import_module("planezip.report.evaluate"), "spread", killed)
    result = planezip("report", "trace.json.gz", "--jobs", 2, "-o", "out")
    assert result.exit_code == 2
    assert result.stderr == (
        "planezip: a worker process was ended, perhaps memory ran out; "
        "use fewer processes: --jobs 1\n"
    )
    assert not (here / "out").exists()
    succeed_alone = planezip("report", "trace.json.gz", "--jobs", 1, "-o", "out")
    assert succeed_alone.exit_code == 0

"""A folder of tables is read as it was written; what is damaged is named."""

from dataclasses import astuple

import pytest

from planezip.errors import InputError
from planezip.report.artefacts import ARTEFACTS
from planezip.report.explored import explorers
from planezip.report.machine import this_machine
from planezip.report.results import read_machine, read_results
from planezip.report.study import Study


@pytest.fixture
def folder(tmp_path):
    for name in ("hwcost", "fig1_summary"):
        rows = ARTEFACTS[name].rows(Study(tmp_path)) if name == "hwcost" else []
        for file, data in ARTEFACTS[name].files(rows).items():
            (tmp_path / file).write_bytes(data)
    return tmp_path


def test_rows_come_back_in_the_papers_order(folder):
    made = read_results(folder)
    assert [artefact.name for artefact in made] == ["fig1_summary", "hwcost"]
    hwcost = ARTEFACTS["hwcost"]
    given = hwcost.rows(Study(folder))
    assert [astuple(r) for r in made[hwcost]] == [
        pytest.approx(astuple(r), rel=1e-5) for r in given
    ]
    assert read_machine(folder) is None


def test_a_folder_without_tables_is_named(tmp_path):
    with pytest.raises(InputError, match=r"holds no table or figure.*planezip reproduce --out"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"lanes,ghz\n",
        b"lanes,ghz\n1,2\n",
        b"\xff\xfe\x00",
        b"lanes,ghz,gbps_per_direction,area_mm2,share_of_die_pct\n4,1.5,96,0.036\n",
        b"lanes,ghz,gbps_per_direction,area_mm2,share_of_die_pct\nfour,1.5,96,0.036,0.004\n",
        b"lanes,ghz,gbps_per_direction,area_mm2,share_of_die_pct\n4,nan,96,0.036,0.004\n",
        b"lanes,ghz,gbps_per_direction,area_mm2,share_of_die_pct\n4,1.5,inf,0.036,0.004\n",
        b"lanes,ghz,gbps_per_direction,area_mm2,share_of_die_pct\n4,1.5,96,0.036,0.004,9\n",
        b'lanes,ghz,gbps_per_direction,area_mm2,share_of_die_pct\n"4,1.5,96',
    ],
)
def test_a_damaged_table_is_named(folder, content):
    (folder / "hwcost.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"hwcost\.csv"):
        read_results(folder)


def test_a_table_that_names_what_there_is_not_is_named(folder):
    header = "platform,share_bytes_swap_slower_pct,median_ratio"
    (folder / "fig1_summary.csv").write_text(f"{header}\nC,95,10\n")
    with pytest.raises(InputError, match=r"fig1_summary\.csv does not hold together.*'C'"):
        read_results(folder)


def test_a_policy_that_was_not_planned_is_named(study, made):
    fig4 = ARTEFACTS["fig4"]
    few = {fig4: [row for row in made[fig4] if row.policy in ("recomp", "bw")]}
    with pytest.raises(InputError, match=r"no policy 'dte'; choose from: recomp, bw"):
        explorers(study, few, policy="dte")
    assert len(explorers(study, few)) == 2  # PlaneZip is not asked for, but drawn where it is
    assert explorers(study, {}) == []


def test_the_machine_is_the_one_that_made_the_tables(folder, results):
    assert read_machine(results) == this_machine()
    (folder / "machine.json").write_text("{")
    with pytest.raises(InputError, match=r"machine\.json"):
        read_machine(folder)

"""CSV files hold what the rows hold, and say what is wrong with them."""

from dataclasses import dataclass

import pytest

from planezip.errors import InputError
from planezip.report.csvs import read_csv, write_csv
from planezip.report.rows import INFEASIBLE, Row

ROWS = [
    Row("resnet50", "A", 50.0, "bw+zvc", 1.5, 0.985, 12, 0.0625, 0.0, "bytes/copy eta=0.5"),
    Row("a, quoted\nname", "B", 30.0, "recomp", None, None, None, None, None, INFEASIBLE),
]


def test_rows_survive_the_file(tmp_path):
    write_csv(tmp_path / "rows.csv", Row, ROWS)
    assert read_csv(tmp_path / "rows.csv", Row) == ROWS


def test_the_header_is_there_without_rows(tmp_path):
    write_csv(tmp_path / "rows.csv", Row, [])
    header = (tmp_path / "rows.csv").read_text()
    assert header.startswith("model,platform,budget_pct,policy,overhead_pct,throughput_norm,")
    assert header.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,count\n", None),
        ("name\nx\n", "count"),
        ("name,count\nx,\n", "count"),
        ("name,count\nx\n", "count"),
        ("name,count\nx,many\n", "count"),
        ('name,count\nx,"1', "CSV"),
    ],
)
def test_a_missing_or_wrong_cell_is_named(tmp_path, text, said):
    @dataclass(frozen=True)
    class Count:
        name: str
        count: int

    (tmp_path / "counts.csv").write_text(text)
    if said is None:
        assert read_csv(tmp_path / "counts.csv", Count) == []
    else:
        with pytest.raises(InputError, match=rf"counts\.csv.*{said}"):
            read_csv(tmp_path / "counts.csv", Count)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*none\.csv"):
        read_csv(tmp_path / "none.csv", Row)

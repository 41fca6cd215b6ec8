"""A difference is that of the numbers as a reader sees them."""

import pytest

from planezip.report.grid import Grid
from planezip.report.pages.differences import difference, with_differences


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ("4.9", "3.5", "+1.4 (+40 %)"),
        ("3.5", "4.9", "−1.4 (−29 %)"),
        ("1,911", "1,910", "+1 (+0.1 %)"),
        ("25.6", "25.6", "0"),
        ("99.98", "99.9", "+0.08 (+0.1 %)"),
        ("94.99", "95.0", "−0.01"),
        ("0.0044", "0.004", "+0.0004 (+10 %)"),
        ("0.1", "0.0", "+0.1"),
        ("7–36", "7–37", "0 and −1"),
        ("18–52", "18–52", "same"),
        ("23", "23–24", "0 and −1"),
        ("1.68/1.71/1.67", "1.88/1.88/1.89", "−0.20/−0.17/−0.22"),
        ("1.68/1.71", "1.88/1.88/1.89", "other"),
        ("1.68/1.71/–", "1.88/1.88/1.89", "other"),
        ("BX", "BX", "same"),
        ("BX", "ZBX", "other"),
        ("no plan", "3.5", "other"),
        ("–", "3.5", ""),
        ("3.5", "–", ""),
        ("", "", ""),
        ("–/–/–", "1.88/1.88/1.89", ""),
    ],
)
def test_a_difference_says_how_far_and_relative_to_the_paper(ours, theirs, said):
    assert difference(ours, theirs) == said


def test_a_column_follows_every_one_of_the_papers():
    grid = Grid("t", ("a", "b", "paper", "paper 50%"), [("x", "2.0", "1.0", "7")], 1, 0, "note")
    made = with_differences(grid)
    assert list(made.headers) == ["a", "b", "paper", "difference", "paper 50%"]
    assert made.rows == [["x", "2.0", "1.0", "+1.0 (+100 %)", "7"]]
    assert (made.title, made.words, made.strong, made.note) == ("t", 1, 0, "note")


def test_where_the_paper_has_no_number_there_is_no_column():
    grid = Grid("t", ("a", "b", "paper"), [("x", "2.0", "–"), ("y", "3.0", "–")])
    assert list(with_differences(grid).headers) == ["a", "b", "paper"]

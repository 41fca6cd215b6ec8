"""Sizes are read and written as people do."""

import pytest

from planezip.errors import InputError
from planezip.units import format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("text", "count"),
    [("4096", 4096), ("2GiB", 2 << 30), ("500 MB", 500_000_000), ("1.5kb", 1500), ("7b", 7)],
)
def test_sizes_are_read(text, count):
    assert parse_bytes(text) == count


def test_sizes_are_exact_up_to_the_largest():
    assert parse_bytes(str(2**63 - 1)) == 2**63 - 1
    for text in (str(2**63), "9" * 5000, "8388608TiB"):
        with pytest.raises(InputError, match="larger than any size"):
            parse_bytes(text)


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "5 bananas", "1e9", "nan", "50%"])
def test_what_is_no_size_is_refused_by_name(text):
    with pytest.raises(InputError, match="is not a size"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("count", "text"), [(11e9, "11.0 GB"), (25_690_112, "25.7 MB"), (1500, "1.5 kB"), (12, "12 B")]
)
def test_sizes_are_written(count, text):
    assert format_bytes(count) == text

"""Platforms say what the paper's Table II says, and Eq. 2 gives the time of a transfer."""

from dataclasses import replace

import pytest

from planezip.errors import InputError
from planezip.records import PAPER_PLATFORMS, platform, platforms

LINK = 10e9


def test_table_2_of_the_paper():
    a, b = platform("A"), platform("B")
    assert (a.precision, b.precision) == ("fp32", "bf16")
    assert (a.peak_flops_per_s * a.math_efficiency) == pytest.approx(9.38e12)
    assert (b.peak_flops_per_s * b.math_efficiency) == pytest.approx(187.2e12)
    assert (a.d2h_bytes_per_s, b.d2h_bytes_per_s) == (12e9, 24e9)


def test_every_platform_of_the_data_file_is_complete_and_named():
    assert all(p.name == name and p.gpu for name, p in platforms().items())


def test_an_unknown_platform_is_refused_with_the_names_of_the_known():
    with pytest.raises(InputError, match="A, B"):
        platform("Z")


@pytest.mark.parametrize(
    ("ratio", "engine", "seconds"),
    [
        (1.0, 64e9, 0.1),  # nothing to gain
        (2.0, 64e9, 0.05),  # the link limits
        (10.0, 64e9, 1 / 64),  # the engine limits
        (2.0, 10e9, 0.1),  # an engine as fast as the link is bypassed
        (0.5, 64e9, 0.1),  # data that would grow go raw
    ],
)
def test_equation_2(ratio, engine, seconds):
    p = replace(platform("A"), engine_bytes_per_s=engine, copy_setup_s=5e-6)
    assert p.copy_s(10**9, ratio, LINK) == pytest.approx(seconds + 5e-6, rel=1e-12)


def test_platforms_beyond_the_paper_are_those_of_their_datasheets():
    known = platforms()
    assert known.keys() - set(PAPER_PLATFORMS) == {
        "rtx4090", "h100-pcie", "h100-sxm", "h200", "gh200", "b200",
    }  # fmt: skip
    for name in known.keys() - set(PAPER_PLATFORMS):
        on = known[name]
        assert on.precision == "bf16"
        assert (on.math_efficiency, on.memory_efficiency) == (0.60, 0.80)
        link = max(on.d2h_bytes_per_s, on.h2d_bytes_per_s)
        assert on.engine_bytes_per_s == (64e9 if name == "rtx4090" else 4 * link)


def test_the_link_of_gh200_is_asymmetric():
    on = platform("gh200")
    assert on.copy_s(10**9, 1.0, on.d2h_bytes_per_s) > on.copy_s(10**9, 1.0, on.h2d_bytes_per_s)


def test_compressing_in_place_takes_the_engine_both_ways_unless_it_has_other_rates():
    p = replace(platform("A"), engine_bytes_per_s=10e9, copy_setup_s=1.0)
    assert p.compress_s(10**10) == (2.0, 2.0)
    assert replace(p, encode_bytes_per_s=5e9).compress_s(10**10) == (3.0, 2.0)
    assert replace(p, decode_bytes_per_s=20e9).compress_s(10**10) == (2.0, 1.5)

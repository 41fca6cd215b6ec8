"""Every setting of every rival restores its input, and the checks see what they should."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.codecs import RIVALS
from benchmarks.codecs.coder import Coder, Values, join_bytes, split_bytes
from benchmarks.codecs.measure import Row, check, measured, settings
from benchmarks.codecs.plot import codecs_figure
from benchmarks.codecs.summary import summary

from planezip.report.machine import this_machine

SETTINGS = [(rival, setting) for rival in RIVALS for setting in settings(rival)]
OWN = Row("planezip", "planezip", "conv", "bf16", 1 << 20, 1.5, 4.0, 5.0)


def contents(dtype: type[np.generic]) -> Values:
    """Gaussian values, zeros, and every kind of bits: infinities, NaNs, denormals."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(40_001, np.float32)
    values[10_000:20_000] = 0
    bits = values.view(np.uint32)
    bits[30_000:] = rng.integers(0, 1 << 32, 10_001, np.uint32)
    return (bits >> 16).astype(np.uint16) if dtype is np.uint16 else values


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
@pytest.mark.parametrize(("rival", "setting"), SETTINGS)
def test_every_setting_restores_every_bit(rival, setting, dtype):
    values = contents(dtype)
    before = values.copy()
    ratio, encode, decode = measured(settings(rival)[setting](values), values, rival)
    assert ratio > 0.9
    assert min(encode, decode) > 0
    assert np.array_equal(values.view(np.uint8), before.view(np.uint8))


@pytest.mark.parametrize("width", [2, 4])
def test_split_bytes_come_back(width):
    values = np.arange(7 * width, dtype=np.uint8).view(f"u{width}")
    split = split_bytes(values)
    assert split[0].tolist() == list(range(0, 7 * width, width))
    assert np.array_equal(join_bytes(split.tobytes(), width).ravel(), values.view(np.uint8))


def test_a_coder_that_changes_a_bit_is_refused():
    values = contents(np.uint16)
    broken = Coder(lambda v: v.tobytes(), lambda s: bytes([s[0] ^ 1]) + s[1:])
    with pytest.raises(SystemExit, match="broken: not restored"):
        measured(broken, values, "broken")
    with pytest.raises(SystemExit, match="short: not restored"):
        check(values.tobytes()[:-1], values, "short")


def page(*others: Row) -> str:
    rows = [replace(row, dtype=dtype) for row in (OWN, *others) for dtype in ("bf16", "fp32")]
    return summary(rows, this_machine(), {"planezip": "1"})


def test_a_faster_rival_of_equal_ratio_is_named():
    zipnn = Row("zipnn", "auto", "conv", "bf16", 1 << 20, 1.5, 1.0, 5.5)
    assert "zipnn (auto) has ratio 1.500 to 1.500 and decodes at 5.50 to 5.00 GB/s" in page(zipnn)


def test_faster_at_less_ratio_or_slower_at_more_is_not_ahead():
    fast = Row("lz4", "default", "conv", "bf16", 1 << 20, 1.49, 9.0, 9.0)
    dense = Row("zipnn", "auto", "conv", "bf16", 1 << 20, 1.6, 1.0, 2.5)
    text = page(fast, dense)
    assert "On no input is one faster either way" in text
    assert "encodes 4.00 times as fast, decodes 2.00 times" in text


def test_the_plot_is_a_png():
    rows = [replace(OWN, rival=r, setting=s, ratio=1 + i / 9) for i, (r, s) in enumerate(SETTINGS)]
    both = [replace(row, dtype=dtype) for row in rows for dtype in ("bf16", "fp32")]
    assert codecs_figure(both).startswith(b"\x89PNG")

"""What is known to go wrong in other compressors of tensors does not go wrong here."""

import numpy as np
import pytest
import torch

import planezip
from planezip.codec import CODECS

NOISE = np.random.default_rng(0).integers(0, 256, 40_000, np.uint8)


@pytest.mark.parametrize("codec", CODECS)
def test_the_input_buffer_is_not_rewritten(codec):
    for contents in (bytearray(NOISE), NOISE.copy(), torch.from_numpy(NOISE.copy())):
        before = bytes(memoryview(np.asarray(contents)))
        planezip.compress(contents, codec)
        planezip.compressed_size(contents, codec)
        assert bytes(memoryview(np.asarray(contents))) == before


@pytest.mark.parametrize("codec", CODECS)
def test_odd_byte_counts_do_not_abort(codec):
    for length in (1, 3, 5, 127, 129, 4095, 4097, 39_999):
        for symbol_bits in (16, 32):
            stream = planezip.compress(NOISE[:length].tobytes(), codec, symbol_bits)
            assert planezip.decompress(stream) == NOISE[:length].tobytes()


@pytest.mark.parametrize("codec", CODECS)
def test_the_bound_is_not_too_small_for_contents_that_do_not_compress(codec):
    for length in range(0, 40_000, 1237):
        out = bytearray(planezip.compress_bound(length))
        size = planezip.compress(NOISE[:length], codec, out=out)
        assert planezip.decompress(out[:size]).tobytes() == NOISE[:length].tobytes()


@pytest.mark.parametrize("codec", CODECS)
def test_lengths_that_are_no_multiple_of_the_element_size_are_not_corrupted(codec):
    smooth = (np.arange(3000, dtype=np.float32) / 7).tobytes()
    for tail in range(1, 9):
        for symbol_bits in (16, 32):
            contents = smooth[:-tail]
            assert planezip.decompress(planezip.compress(contents, codec, symbol_bits)) == contents


def test_nan_payloads_and_the_signs_of_zeros_are_not_normalised():
    bits = np.array([0x7FC00001, 0xFFC12345, 0x7F800001, 0x80000000], np.uint32)
    restored = planezip.decompress(planezip.compress(np.tile(bits, 99).view(np.float32)))
    assert restored.view(np.uint32).tolist() == np.tile(bits, 99).tolist()

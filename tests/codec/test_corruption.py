"""Damage of any kind is noticed."""

import numpy as np
import pytest
import torch

import planezip
from forging import refused, sealed
from planezip import CorruptStreamError, InputError
from planezip.codec import CODECS


def small_contents() -> bytes:
    values = np.arange(150, dtype=np.float32) % 11 * (np.arange(150) % 3 > 0)
    return values.tobytes()[:-1]


@pytest.mark.parametrize("codec", CODECS)
def test_every_single_bit_flip_is_noticed(codec):
    stream = planezip.compress(small_contents(), codec)
    for bit in range(8 * len(stream)):
        damaged = bytearray(stream)
        damaged[bit // 8] ^= 1 << bit % 8
        refused(bytes(damaged))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("symbol_bits", [16, 32])
def test_every_single_bit_flip_of_the_chunks_under_a_right_checksum_is_refused_or_read(
    codec, symbol_bits
):
    contents = small_contents()
    for part in (contents, contents[:5], bytes(300), np.random.default_rng(0).bytes(200)):
        stream = planezip.compress(part, codec, symbol_bits)
        first = len(stream) - planezip.compressed_size(part, codec, symbol_bits)
        read = 0
        for bit in range(8 * first, 8 * len(stream)):
            forgery = bytearray(stream)
            forgery[bit // 8] ^= 1 << bit % 8
            try:
                restored = planezip.decompress(sealed(bytes(forgery)))
            except CorruptStreamError:
                continue
            assert len(restored) == len(part)
            assert restored != part or codec == "bpc"  # the sign plane of DBX is not checked
            read += 1
        assert read < 8 * (len(stream) - first)


@pytest.mark.parametrize(
    "contents", [small_contents(), b"", np.ones((2, 3)), torch.ones(4).bfloat16()], ids=type
)
def test_every_truncation_and_extension_is_noticed(contents):
    stream = planezip.compress(contents)
    for length in range(len(stream)):
        refused(stream[:length])
    for behind in (b"\0", b"\1", stream):
        refused(stream + behind)


def test_out_is_untouched_by_a_damaged_stream():
    stream = bytearray(planezip.compress(small_contents()))
    stream[-1] ^= 1
    out = bytearray(b"x" * 599)
    with pytest.raises(CorruptStreamError):
        planezip.decompress(stream, out=out)
    assert out == b"x" * 599


@pytest.mark.parametrize("junk", [b"", b"P", b"PLZ", b"\x89PNG" + bytes(60), bytes(200)])
def test_what_is_no_stream_is_refused(junk):
    refused(junk, "not a PlaneZip stream|inside its preamble")


def test_corrupt_streams_are_not_input_errors():
    assert not issubclass(CorruptStreamError, InputError)

"""measure() and describe() say what compress() does."""

import numpy as np
import pytest
import torch

from planezip import compress, compressed_size
from planezip.codec import CODECS, describe, measure
from planezip.codec.format import BDI_TAGS

CHUNK_BYTES = 4096


@pytest.mark.parametrize("symbol_bits", [None, 16, 32])
def test_one_pass_measures_what_every_codec_writes(symbol_bits, activations):
    for output in activations.values():
        for tensor in (torch.from_numpy(output), torch.from_numpy(output).bfloat16()):
            measured = measure(tensor, symbol_bits)
            assert measured.raw_bytes == tensor.numel() * tensor.element_size()
            for codec in CODECS:
                info = describe(compress(tensor, codec, symbol_bits))
                assert measured.wire_bytes[codec] == info.wire_bytes
                assert measured.wire_bytes[codec] == compressed_size(tensor, codec, symbol_bits)
                assert measured.ratio(codec) == info.ratio
            info = describe(compress(tensor, symbol_bits=symbol_bits))
            assert measured.encoder_blocks == info.encoder_blocks


def test_stride_measures_every_nth_chunk():
    rng = np.random.default_rng(0)
    data = (rng.integers(0, 256, 11 * CHUNK_BYTES + 5) >> rng.integers(0, 8)).astype(np.uint8)
    for stride in (1, 2, 4, 11, 12, 50):
        chosen = [data[i * CHUNK_BYTES :][:CHUNK_BYTES] for i in range(0, 12, stride)]
        parts = [measure(chunk) for chunk in chosen]
        measured = measure(data, chunk_stride=stride)
        assert measured.raw_bytes == sum(len(chunk) for chunk in chosen)
        for codec in CODECS:
            assert measured.wire_bytes[codec] == sum(part.wire_bytes[codec] for part in parts)
        assert sum(measured.encoder_blocks.values()) == sum(-(-len(c) // 128) for c in chosen)


@pytest.mark.parametrize("stride", [1, 3])
def test_measurement_does_not_depend_on_threads(stride, activations):
    expected = measure(activations["relu"], chunk_stride=stride, threads=1)
    for threads in (2, 5, 100, None):
        assert measure(activations["relu"], chunk_stride=stride, threads=threads) == expected


def test_nothing_measures_as_nothing():
    measured = measure(b"")
    assert measured.raw_bytes == 0
    assert set(measured.wire_bytes.values()) == {0}
    assert measured.ratio() == 1.0


def test_blocks_of_a_raw_chunk_count_as_raw():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, CHUNK_BYTES).astype(np.uint8)
    noise.view(np.uint32)[:4] = 0  # ZVC takes 29 * 32 + 32 bits: shorter by 64, less than 32 tags
    measured = measure(noise)
    assert measured.encoder_blocks == {"raw": 32, "zvc": 0, "dbx": 0, "bx": 0, "zbx": 0}
    assert measured.wire_bytes["planezip"] == 2 + CHUNK_BYTES


def test_description_of_an_array():
    zeros = np.zeros((3, 5000), ">i4")
    stream = compress(zeros, "bx", threads=1)
    info = describe(stream)
    assert (info.codec, info.symbol_bits, info.family) == ("bx", 32, "numpy")
    assert (info.dtype, info.shape, info.byte_length) == (">i4", (3, 5000), 60000)
    assert info.stream_bytes == len(stream)
    # 468 full blocks and one of 96 bytes: 14 chunks of 32 and one of 21; 1 + 7 bits a block
    assert info.wire_bytes == 14 * (2 + 32) + (2 + 21)
    assert info.encoder_blocks == {"raw": 0, "bx": 469}
    assert (info.raw_chunks, info.encoded_chunks) == (0, 15)
    assert info.ratio == 60000 / info.wire_bytes


def test_description_names_the_tags_of_each_codec():
    expected = {
        "zvc": ("raw", "zvc"),
        "bdi": BDI_TAGS,
        "bpc": ("raw", "dbx"),
        "bx": ("raw", "bx"),
        "zbx": ("raw", "zbx"),
        "planezip": ("raw", "zvc", "dbx", "bx", "zbx"),
    }
    for codec in CODECS:
        assert tuple(describe(compress(b"abc", codec)).encoder_blocks) == expected[codec]


def test_description_counts_raw_and_encoded_chunks():
    noise = np.random.default_rng(0).integers(0, 256, CHUNK_BYTES).astype(np.uint8)
    info = describe(compress(np.concatenate([noise, 0 * noise, noise[:128]])))
    assert (info.raw_chunks, info.encoded_chunks) == (2, 1)
    assert info.encoder_blocks == {"raw": 33, "zvc": 0, "dbx": 0, "bx": 32, "zbx": 0}

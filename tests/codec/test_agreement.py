"""Reference, size model and native engine agree to the bit (paper III-A, "Validation")."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planezip import _native
from planezip.codec import CODECS, engine, measure, reference, size_model
from planezip.codec.format import ENCODERS
from planezip.codec.reference.bits import BitReader, BitWriter
from planezip.codec.reference.encodings import READERS, WRITERS

WIDTHS = (16, 32)


def check_encodings(blocks: np.ndarray, width: int) -> None:
    """Each encoding of each block decodes to it and has the size that the size model says."""
    sizes = size_model.encoding_bits(blocks, width)
    for i, symbols in enumerate(blocks.view(f"<u{width // 8}").tolist()):
        for encoding in ENCODERS:
            out = BitWriter()
            WRITERS[encoding](out, symbols, width)
            assert out.count == sizes[encoding][i], (encoding, symbols)
            source = BitReader(out.to_bytes())
            assert READERS[encoding](source, width) == symbols, encoding
            assert source.value == 0
            assert source.left < 8


def check_streams(data: bytes, width: int, codecs: tuple[str, ...] = CODECS) -> None:
    """The native engine writes the reference's stream; each reads it; all sizes are its length."""
    flat = np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
    modelled = size_model.wire_sizes(flat, width)
    measured = measure(data, symbol_bits=width, threads=1).wire_bytes
    for codec in codecs:
        number = CODECS.index(codec)
        stream = reference.encode(data, codec, width)
        assert engine.encode(flat, number, width, 1).tobytes() == stream, codec
        assert modelled[codec] == measured[codec] == len(stream), codec
        assert _native.measure(flat, width, 1 << number, 1, 1)[1][number] == len(stream), codec
        assert reference.decode(stream, codec, width, len(data)) == data, codec
        decoded = np.full(len(data), 0xA5, np.uint8)
        chunks = np.frombuffer(stream, np.uint8) if stream else np.empty(0, np.uint8)
        _native.decode(chunks, number, width, 1, decoded)
        assert decoded.tobytes() == data, codec


@pytest.mark.parametrize("width", WIDTHS)
def test_encodings_agree_on_real_activations(real_blocks, width):
    check_encodings(real_blocks[width], width)


@pytest.mark.parametrize("width", WIDTHS)
def test_encodings_agree_on_corner_cases(synthetic_blocks, width):
    check_encodings(synthetic_blocks[width], width)


@pytest.mark.parametrize("width", WIDTHS)
def test_streams_agree_on_real_activations(real_blocks, width):
    check_streams(real_blocks[width].tobytes(), width)


def test_streams_agree_on_bf16_in_32_bit_symbols(real_blocks):
    check_streams(real_blocks[16][::4].tobytes(), 32)


@pytest.mark.parametrize("width", WIDTHS)
def test_streams_agree_on_corner_cases(synthetic_blocks, width):
    check_streams(synthetic_blocks[width].tobytes(), width)


def test_corner_cases_reach_every_encoder_and_every_bdi_form(synthetic_blocks):
    from planezip.codec import compress, describe

    for width in WIDTHS:
        for codec in ("planezip", "bdi"):
            # a block of zeros behind each keeps chunks from being stored raw
            rows = synthetic_blocks[width]
            padded = np.concatenate([rows, np.zeros_like(rows)], axis=1)
            blocks = describe(compress(padded, codec, width)).encoder_blocks
            assert all(blocks.values()), blocks


@pytest.mark.parametrize("width", WIDTHS)
def test_streams_agree_at_every_length(width):
    rng = np.random.default_rng(2)
    data = (rng.integers(0, 256, 300) * (rng.random(300) < 0.4)).astype(np.uint8).tobytes()
    for length in range(301):
        check_streams(data[:length], width)


symbols = st.one_of(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 1, 0x8000, 0x7F80, 0x7FC1, 0xFFFF, 0x3F80, 0x80000000, 0x7F800001]),
)
pools = st.lists(symbols, min_size=1, max_size=4)
contents = st.one_of(
    st.binary(max_size=400),
    pools.flatmap(
        lambda pool: st.lists(st.sampled_from([0, *pool]), max_size=200).map(
            lambda chosen: np.array(chosen, np.uint32).tobytes()
        )
    ),
    st.tuples(symbols, st.lists(st.integers(-3, 3), max_size=150)).map(
        lambda walk: (walk[0] + np.cumsum(walk[1], dtype=np.int64)).astype(np.uint32).tobytes()
    ),
)


@settings(max_examples=150, deadline=None)
@given(data=contents, width=st.sampled_from(WIDTHS))
def test_streams_agree_on_any_bytes(data, width):
    check_streams(data, width)

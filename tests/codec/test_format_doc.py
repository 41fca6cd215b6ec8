"""The worked example of docs/format.md is what the code writes."""

import re
from pathlib import Path

import numpy as np
import pytest

import planezip
from planezip.codec.reference.blocks import write_block

DOCUMENT = Path(__file__).parents[2] / "docs" / "format.md"


@pytest.fixture
def example() -> np.ndarray:
    array = np.zeros(64, np.float16)
    array[[3, 4, 10, 11, 12, 40]] = [1.0, 1.5, 1.25, 1.0, -1.75, 1.0]
    return array


def listing(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    return found


def test_the_printed_stream_is_the_one_written(example):
    assert planezip.compress(example) == bytes.fromhex(listing("hex"))


def test_the_printed_stream_restores_the_array(example):
    restored = planezip.decompress(bytes.fromhex(listing("hex")))
    assert restored.dtype == example.dtype
    assert restored.tobytes() == example.tobytes()


def test_the_printed_bits_are_the_block(example):
    lines = listing("bits").splitlines()
    codes = [re.match(r"[01]+( [01]+)*", line).group().replace(" ", "") for line in lines]
    *written, padding = codes
    block = write_block(example.tobytes(), "planezip", 16)
    assert "".join(written) == f"{block.value:0{block.count}b}"[::-1]
    payload = bytes.fromhex(listing("hex").splitlines()[-1])
    assert len("".join(codes)) == 8 * len(payload)
    assert "".join(f"{byte:08b}"[::-1] for byte in payload) == "".join(written) + padding


def test_the_printed_sizes_are_those_of_the_size_model(example):
    from planezip.codec.size_model import encoding_bits

    text = " ".join(DOCUMENT.read_text().split())
    printed = re.search(
        r"raw \(([\d,]+) bits\), ZVC \((\d+)\), DBX \((\d+)\) and BX \((\d+)\)", text
    )
    sizes = encoding_bits(example.view(np.uint8)[None], 16)
    assert [int(number.replace(",", "")) for number in printed.groups()] == [
        int(sizes[encoding][0]) for encoding in ("raw", "zvc", "dbx", "bx")
    ]


def test_the_layout_of_sequences_is_the_one_written(tmp_path):
    import xxhash

    with planezip.SequenceWriter(tmp_path / "s") as writer:
        writer.append(b"abc")
    stream = planezip.compress(b"abc")
    head = b"PLZS" + bytes(4) + len(stream).to_bytes(8, "little")
    checksum = xxhash.xxh3_64_intdigest(head).to_bytes(8, "little")
    assert (tmp_path / "s").read_bytes() == head + checksum + stream

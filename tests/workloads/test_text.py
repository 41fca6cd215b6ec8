"""Texts as batches of tokens: learned merges, seeded places, clear refusals."""

from pathlib import Path

import numpy as np
import pytest
import torch

from planezip.errors import InputError
from planezip.workloads import workload
from planezip.workloads.text import VOCABULARY, Text, python_documentation, tokenise

SENTENCE = "The planner swaps what it can hide, and drops what is cheap to compute again.\n"


def text(seed: int = 0, length: int = 16) -> Text:
    return Text.from_text(SENTENCE * 20, seed, length, "a sentence")


def test_batches_depend_on_seed_and_step_alone() -> None:
    (one,), (same,) = text().batch(3, 4), text().batch(3, 4)
    assert torch.equal(one, same)
    assert (one.dtype, one.shape) == (torch.int64, (4, 16))
    assert not torch.equal(one, text(seed=1).batch(3, 4)[0])
    assert not torch.equal(one, text().batch(4, 4)[0])
    assert text().fingerprint == text().fingerprint
    assert len({text().fingerprint, text(seed=1).fingerprint, text(length=8).fingerprint}) == 3


def test_sequences_are_parts_of_the_text() -> None:
    made = text()
    for sequence in made.batch(0, 8)[0].numpy():
        windows = np.lib.stride_tricks.sliding_window_view(made.tokens, 16)
        assert (windows == sequence).all(1).any()


def test_tokens_lie_in_the_vocabulary_and_merge_bytes() -> None:
    tokens = tokenise(SENTENCE * 20)
    assert 0 <= tokens.min() <= tokens.max() < VOCABULARY
    assert len(tokens) < len(SENTENCE * 20) / 3
    with pytest.raises(ValueError, match="read-only"):
        tokens[0] = 1


def test_every_byte_has_a_token() -> None:
    assert len(tokenise("ä€😀 \x00\t\x7f")) > 0


def test_a_text_of_exactly_one_sequence_is_enough() -> None:
    tokens = tokenise(SENTENCE)
    made = Text.from_text(SENTENCE, 0, len(tokens), "short")
    assert torch.equal(made.batch(5, 1)[0][0], torch.tensor(tokens))


def test_a_text_that_is_too_short_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "short.txt"
    file.write_text("few words")
    with pytest.raises(
        InputError, match=r"\d+ tokens, a sequence takes 1024; give a longer"
    ) as told:
        workload("gpt2").data(file, 0)
    assert str(told.value).startswith(f"{file} has ")


def test_what_is_no_text_is_refused_with_the_place_and_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "latin.txt"
    file.write_bytes("some caf\u00e9".encode("latin-1"))
    with pytest.raises(InputError, match=r"no text in UTF-8: .* at byte 8; convert it") as told:
        workload("gpt2").data(file, 0)
    assert str(told.value).startswith(f"{file} is ")


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*nowhere: .*; give a text file"):
        Text.from_file(tmp_path / "nowhere", 0, 16)
    with pytest.raises(InputError, match="give a text file"):
        Text.from_file(tmp_path, 0, 16)
    (tmp_path / "image").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(InputError, match=r"image is no text in UTF-8"):
        Text.from_file(tmp_path / "image", 0, 16)


def test_the_default_text_comes_with_python() -> None:
    made = python_documentation(0, 1024)
    assert len(made.tokens) > 50_000
    assert "Python" in made.description
    assert 256 < made.tokens.max() < VOCABULARY

"""Training batches from a text, as tokens of a vocabulary learned on the same text (paper IV)."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from planezip.errors import InputError
from planezip.units import counted
from planezip.workloads.workload import Batch

VOCABULARY = 50_257
END_OF_TEXT = "<|endoftext|>"


@dataclass(frozen=True)
class Text:
    """Batches of int64 tokens (size, length), each sequence from a random place of a text.

    Attributes:
        tokens: the whole text.
        length: tokens in a sequence.
        seed: of the places.
        description: what the text is, for people.
        fingerprint: changes when the batches would.
    """

    tokens: NDArray[np.int64]
    length: int
    seed: int
    description: str
    fingerprint: str

    @classmethod
    def from_file(cls, path: Path, seed: int, length: int) -> "Text":
        """A text file in UTF-8; InputError if it cannot be read or is too short."""
        try:
            # What is no file on a disk, such as a pipe, might never end.
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise InputError(f"cannot read {path}: it is no regular file; give a text file")
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}; give a text file") from None
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path} is no text in UTF-8: {error.reason} at byte {error.start}; "
                "convert it, or give another text file"
            ) from None
        return cls.from_text(text, seed, length, path.name, str(path))

    @classmethod
    def from_text(
        cls, text: str, seed: int, length: int, description: str, place: str | None = None
    ) -> "Text":
        """A text; InputError, which names its place, if it has too few tokens for a sequence."""
        tokens = tokenise(text)
        if len(tokens) < length:
            raise InputError(
                f"{place or description} has {counted(len(tokens), 'token')}, "
                f"a sequence takes {length}; give a longer text"
            )
        digest = hashlib.sha256(repr((seed, length)).encode() + tokens.tobytes()).hexdigest()
        return cls(tokens, length, seed, description, digest)

    def batch(self, step: int, size: int) -> Batch:
        """The batch of a training step."""
        sequences = np.empty((size, self.length), np.int64)
        for i in range(size):
            random = np.random.default_rng([self.seed, step * size + i])
            start = int(random.integers(len(self.tokens) - self.length + 1))
            sequences[i] = self.tokens[start : start + self.length]
        return (torch.from_numpy(sequences),)


def python_documentation(seed: int, length: int) -> Text:
    """The language reference that every Python carries for its `help`, in English."""
    from pydoc_data.topics import topics

    text = "\n\n".join(topics[name] for name in sorted(topics))
    return Text.from_text(text, seed, length, "the language reference in Python's own help")


def tokenise(text: str, learned_on: str | None = None) -> NDArray[np.int64]:
    """Tokens of a text under the vocabulary learned on it, or on another text."""
    tokens = np.array(_tokenizer(learned_on or text).encode(text).ids, np.int64)
    tokens.flags.writeable = False
    return tokens


@lru_cache(maxsize=2)
def _tokenizer(text: str) -> Any:
    """A byte-level BPE with a vocabulary learned on a text, at most `VOCABULARY` tokens.

    A short text yields fewer merges than the vocabulary has room for.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text.splitlines(keepends=True), trainer)
    return tokenizer

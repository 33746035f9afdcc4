"""A byte-pair vocabulary: trained on the corpus, or read from a GPT-2-style one.

Byte-level, so no text is ever unknown. Its own tokens keep their order and stand behind the seven specials, which have
the same numbers in every vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from harken.errors import HarkenError
from harken.text.vocabulary import FILE, SPECIALS, Vocabulary


class BytePairs(Vocabulary):
    """Byte pairs behind the seven specials; a text is stripped, and begins like any word after a space."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        own = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
        if [number for _, number in own] != list(range(len(own))):
            raise HarkenError("a byte-pair vocabulary must number its tokens 0, 1, 2, … without gaps")
        self.tokens = (*SPECIALS, *(token for token, _ in own))

    @classmethod
    def train(cls, texts: Iterable[str], size: int) -> BytePairs:
        """Learn at most `size` tokens, specials included, from `texts`."""
        tokenizer = _byte_level(BPE())
        trainer = BpeTrainer(
            vocab_size=size - len(SPECIALS), initial_alphabet=ByteLevel.alphabet(), show_progress=False
        )
        tokenizer.train_from_iterator((text.strip() for text in texts), trainer)
        return cls(tokenizer)

    @classmethod
    def read(cls, path: Path) -> BytePairs:
        """A `tokenizer.json`, a folder with GPT-2's `vocab.json` and `merges.txt`, or a run that has byte pairs."""
        try:
            if path.is_dir() and (path / FILE).exists():
                return cls.from_json(json.loads((path / FILE).read_text(encoding="utf-8")))
            if path.is_dir() and (path / "vocab.json").exists():
                return cls(_byte_level(BPE.from_file(str(path / "vocab.json"), str(path / "merges.txt"))))
            return cls(Tokenizer.from_file(str(path / "tokenizer.json" if path.is_dir() else path)))
        except Exception as problem:  # the library raises bare Exceptions
            raise HarkenError(
                f"{path}: cannot be read as a byte-pair vocabulary ({problem}); name a tokenizer.json, "
                "a folder with vocab.json and merges.txt, or a run with byte pairs"
            ) from problem

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> BytePairs:
        """The vocabulary `to_json` wrote."""
        return cls(Tokenizer.from_str(content["tokenizer"]))

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's byte pairs."""
        return [i + len(SPECIALS) for i in self.tokenizer.encode(text.strip(), add_special_tokens=False).ids]

    def decode(self, ids: Iterable[int]) -> str:
        """The text, specials left out."""
        own = [i - len(SPECIALS) for i in ids if i >= len(SPECIALS)]
        return str(self.tokenizer.decode(own)).strip()

    def to_json(self) -> dict[str, Any]:
        """The tokenizer's own JSON."""
        return {"kind": "bpe", "tokenizer": self.tokenizer.to_str()}


def _byte_level(model: BPE) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=True)
    tokenizer.decoder = ByteLevelDecoder()
    return tokenizer

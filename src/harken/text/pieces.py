"""The tokens of a pre-trained model: the tokeniser of its Hugging Face folder behind our seven specials.

Its padding, unknown and end tokens become ours; its other tokens stand behind them in their order. `rows` says for each of
our numbers which row of the model's own table it is, so that its vectors can move. The start of a reply, the two sides and
the token before a context, which T5 does not have, stand in the row of its padding, with which it starts a reply.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from harken.errors import HarkenError
from harken.text.vocabulary import EOS, PAD, SPECIALS, UNK, Vocabulary


class Pieces(Vocabulary):
    """The tokens of a folder's tokeniser; `own` names its padding, unknown and end tokens."""

    def __init__(self, tokenizer: Tokenizer, own: tuple[str, str, str]) -> None:
        self.tokenizer, self.own = tokenizer, own
        numbers: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
        pad, unk, eos = (numbers[name] for name in own)
        others = sorted((number, token) for token, number in numbers.items() if token not in own)
        self.tokens = (*SPECIALS, *(token for _, token in others))
        self.rows = [pad] * len(SPECIALS) + [number for number, _ in others]
        self.rows[UNK], self.rows[EOS], self.rows[PAD] = unk, eos, pad
        self.number = {number: place for place, number in enumerate(self.rows) if place >= len(SPECIALS)}

    @classmethod
    def read(cls, folder: Path) -> Pieces:
        """The tokeniser of a Hugging Face folder, from the disk alone."""
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from transformers import AutoTokenizer

        if not folder.is_dir():
            raise HarkenError(f"{folder}: there is no such folder; name a Hugging Face folder as text.tokenizer")
        try:
            found = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            tokenizer = Tokenizer.from_str(found.backend_tokenizer.to_str())
        except Exception as problem:  # transformers raises nearly everything
            reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise HarkenError(
                f"{folder}: has no tokeniser that can be read ({reason}); save a tokenizer.json"
            ) from problem
        own = (found.pad_token, found.unk_token, found.eos_token)
        if not all(isinstance(name, str) for name in own):
            raise HarkenError(f"{folder}: its tokeniser must have a padding, an unknown and an end token, as T5's has")
        return cls(tokenizer, own)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Pieces:
        """The vocabulary `to_json` wrote."""
        pad, unk, eos = content["own"]
        return cls(Tokenizer.from_str(content["tokenizer"]), (pad, unk, eos))

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's pieces; its padding or end written out in a text are unknown words."""
        ids = self.tokenizer.encode(text.strip(), add_special_tokens=False).ids
        return [self.number.get(i, UNK) for i in ids]

    def decode(self, ids: Iterable[int]) -> str:
        """The text, specials left out."""
        return str(self.tokenizer.decode([self.rows[i] for i in ids if i >= len(SPECIALS)])).strip()

    def to_json(self) -> dict[str, Any]:
        """The tokeniser's own JSON and the names of its specials."""
        return {"kind": "pretrained", "tokenizer": self.tokenizer.to_str(), "own": list(self.own)}

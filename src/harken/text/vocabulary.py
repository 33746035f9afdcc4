"""Words and their numbers, as the MoEL family counts them.

Seven specials come first, under the family's names: padding, unknown word, end and start of a reply, the two sides of a
conversation (used as role ids, so speaker embeddings are rows of the word table), and the token in front of a context.

The words are those of the training text, most frequent first. The published protocol takes the words of all splits and
of the situations; that is a choice in `TextConfig`, never the default, since it lets test text shape the model.
"""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from harken.dialogue import Dialogue, Role
from harken.errors import HarkenError
from harken.files import write_json
from harken.text.annotations import ExemplarsConfig, TurnLabelsConfig
from harken.text.moel import words
from harken.text.prepend import PrependConfig, prepended_words

SPECIALS = ("[PAD]", "[UNK]", "EOS", "SOS", "USR", "SYS", "CLS")
PAD, UNK, EOS, SOS, USR, SYS, CLS = range(len(SPECIALS))
ROLE_IDS: dict[Role, int] = {"speaker": USR, "listener": SYS}
FILE = "vocabulary.json"


@dataclass(frozen=True, kw_only=True)
class TextConfig:
    """How dialogues become numbers."""

    kind: Literal["words", "bpe", "pretrained"] = "words"
    """Word tokens of the MoEL family, a byte-pair vocabulary, or the tokens of a pre-trained model."""
    source: Literal["train", "all"] = "train"
    """Where the vocabulary is from: training turns, or every split with its situations (the published protocol)."""
    min_count: int | None = None
    """Rarer words become the unknown word. null: 2 for training text, so that the unknown word is learnt; 1 for all."""
    bpe_size: int = 8_000
    bpe_file: Path | None = None
    """A `tokenizer.json`, a folder with GPT-2's `vocab.json` and `merges.txt`, or a run; null trains one on the source."""
    tokenizer: Path | None = None
    """The Hugging Face folder of the model whose tokens to use, for kind pretrained."""
    max_context: int = 512
    """Longest context in tokens; of a longer one the last tokens stay."""
    max_response: int = 256
    history: int | None = None
    """Turns of context; null keeps them all."""
    both_sides: bool = False
    """Train on the speaker's turns too; validation and test stay with the listener's."""
    situations: bool = False
    """Train also on the situation in place of the speaker's first turn, answered by the listener's first."""
    prepend: PrependConfig | None = None
    """Predicted labels before each context; null for none."""
    turn_labels: TurnLabelsConfig | None = None
    """A label of the 41 for every turn, for models that read them; null takes those the corpus itself has."""
    exemplars: ExemplarsConfig | None = None
    """Responses to like contexts, for models that are guided by them; null for none."""
    levels: tuple[Path, ...] = ()
    """Label files with the empathy mechanisms and the sentiment of the gold responses, for empathy losses."""
    vectors: Path | None = None
    """Word vectors (GloVe or fastText text, plain, .gz or .zip) to start the embeddings from."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        for name, least in (("bpe_size", 300), ("max_context", 2), ("max_response", 2)):
            if getattr(self, name) < least:
                yield f"{name} = {getattr(self, name)} must be at least {least}"
        if self.min_count is not None and self.min_count < 1:
            yield f"min_count = {self.min_count} must be at least 1, or null to let the source decide"
        if self.history is not None and self.history < 1:
            yield f"history = {self.history} must be at least 1 turn, or null for all"
        for name in ("prepend", "exemplars", "levels"):
            if getattr(self, name) and (self.both_sides or self.situations):
                yield f"{name} is known of what listeners answer only; set both_sides and situations to false"
        if self.turn_labels and self.situations:
            yield "turn_labels has no labels of situations; set situations to false"
        if self.kind != "words" and self.vectors is not None:
            yield f"vectors are vectors of words and kind is {self.kind}; set kind to words or vectors to null"
        if (self.kind == "pretrained") != (self.tokenizer is not None):
            yield "kind = pretrained and tokenizer, the folder of its tokens, need each other; set both or neither"


class Vocabulary(ABC):
    """Text to numbers and back; the seven specials have the same numbers in every vocabulary."""

    tokens: Sequence[str]

    def __len__(self) -> int:
        return len(self.tokens)

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The numbers of a text's tokens, without specials."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """The text of the numbers, specials left out."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What `vocabulary.json` holds."""

    def save(self, folder: Path) -> None:
        """Write `vocabulary.json` into a run folder."""
        write_json(folder / FILE, self.to_json())


class Words(Vocabulary):
    """A word vocabulary over the MoEL family's text preparation."""

    def __init__(self, words: Sequence[str]) -> None:
        self.tokens = (*SPECIALS, *words)
        self.index = {word: number for number, word in enumerate(self.tokens)}
        if len(self.index) != len(self.tokens):
            raise HarkenError("a vocabulary must not hold a word twice, nor a word named like one of its specials")

    @classmethod
    def build(cls, texts: Iterable[str], min_count: int = 1, always: Iterable[str] = ()) -> Words:
        """The words of `texts`, most frequent first, ties alphabetically, so the texts' order never matters.

        Those of `always` are in it however rare they are.
        """
        counts = Counter(word for text in texts for word in _words(text))
        for word in {word for text in always for word in _words(text)}:
            counts[word] = max(counts[word], min_count)
        return cls([w for w, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if n >= min_count])

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's words."""
        return [self.index.get(word, UNK) for word in _words(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The words joined by spaces; an unknown word shows as `[UNK]`."""
        return " ".join(self.tokens[i] for i in ids if i >= len(SPECIALS) or i == UNK)

    def to_json(self) -> dict[str, Any]:
        """The words without the specials."""
        return {"kind": "words", "words": list(self.tokens[len(SPECIALS) :])}


@lru_cache(maxsize=200_000)
def _words(text: str) -> tuple[str, ...]:
    """The words of a text, remembered: every turn is counted once and returns as context of the turns after it."""
    return tuple(map(sys.intern, words(text)))


def build_vocabulary(dialogues: Iterable[Dialogue], config: TextConfig) -> Vocabulary:
    """The vocabulary the config asks for; of `dialogues` only the allowed text is read."""
    texts = list(_texts(dialogues, config))
    if config.kind == "bpe":
        from harken.text.bpe import BytePairs

        return BytePairs.read(config.bpe_file) if config.bpe_file else BytePairs.train(texts, config.bpe_size)
    if config.tokenizer is not None:
        from harken.text.pieces import Pieces

        return Pieces.read(config.tokenizer)
    least = config.min_count or (2 if config.source == "train" else 1)
    return Words.build(texts, least, prepended_words(config.prepend) if config.prepend else ())


def _texts(dialogues: Iterable[Dialogue], config: TextConfig) -> Iterator[str]:
    for dialogue in dialogues:
        if config.source == "all" or dialogue.split == "train":
            yield from (turn.text for turn in dialogue.turns)
        if config.source == "all" and dialogue.situation:
            yield dialogue.situation


def load_vocabulary(folder: Path) -> Vocabulary:
    """The vocabulary of a run folder."""
    path = folder / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kind = content["kind"]
        if kind == "words":
            return Words(content["words"])
        if kind == "bpe":
            from harken.text.bpe import BytePairs

            return BytePairs.from_json(content)
        if kind == "pretrained":
            from harken.text.pieces import Pieces

            return Pieces.from_json(content)
    except OSError as problem:
        raise HarkenError(f"{path}: there is no such file; {folder} is not a finished run") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise HarkenError(f"{path}: is not a vocabulary that harken wrote ({problem})") from problem
    raise HarkenError(f"{path}: holds a vocabulary of unknown kind '{kind}'; it needs another version of harken")

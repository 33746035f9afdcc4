"""What metrics measure: the replies of a file under one tokenisation, each derived thing made once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from harken.errors import HarkenError
from harken.scoring.grams import Grams
from harken.scoring.replies import ReplyRecord
from harken.scoring.statistics import Values
from harken.scoring.tokenize import moses_words, tokenizer

Heard = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""
BERT_VOCABULARY = 30_522
"""Liu et al. 2022 count with BERT's vocabulary; a fixed size lets files be compared."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How texts are cut, and what a few metrics need to know."""

    tokenize: str = "given"
    vocabulary: int = BERT_VOCABULARY
    """The vocabulary size V of the expectation-adjusted Distinct."""
    encoder: Path | None = None
    """A folder with the sentence encoder of `similarity`; None is MiniLM."""
    wordnet: Path | None = None
    """A folder with WordNet's dictionary files, for `meteor-nltk`."""
    empathy: tuple[Path, ...] = ()
    """Runs of the empathy classifiers, or folders of them; none looks in `empathy.PLACES`."""

    def __post_init__(self) -> None:
        tokenizer(self.tokenize)
        if self.vocabulary < 2:
            raise HarkenError(f"--vocabulary {self.vocabulary} must be at least 2")


class Material:
    """The texts of some records, their tokens and their n-grams."""

    def __init__(
        self, records: Sequence[ReplyRecord], settings: Settings | None = None, heard: Heard | None = None
    ) -> None:
        """`heard` is told of what takes long."""
        if not records:
            raise HarkenError("there is no reply to score")
        self.records = tuple(records)
        self.settings = settings or Settings()
        self.heard = heard
        self.tokenize: Callable[[str], list[str]] = tokenizer(self.settings.tokenize)

    def __len__(self) -> int:
        """How many replies there are."""
        return len(self.records)

    @cached_property
    def replies(self) -> list[str]:
        """The replies as they stand in the file."""
        return [record.reply for record in self.records]

    @cached_property
    def responses(self) -> list[str]:
        """The gold responses as they stand in the file."""
        return [record.response or "" for record in self.records]

    @cached_property
    def contexts(self) -> list[str]:
        """The turns before each reply, joined by spaces."""
        return [" ".join(record.context or ()) for record in self.records]

    @cached_property
    def reply_tokens(self) -> list[list[str]]:
        """The replies' tokens."""
        return [self.tokenize(text) for text in self.replies]

    @cached_property
    def response_tokens(self) -> list[list[str]]:
        """The responses' tokens."""
        return [self.tokenize(text) for text in self.responses]

    @cached_property
    def grams(self) -> Grams:
        """N-grams of replies and responses."""
        return Grams(self.reply_tokens, self.response_tokens)

    @cached_property
    def moses_grams(self) -> Grams:
        """N-grams of the lower-case tokens, as multi-bleu.perl sees them."""
        if self.settings.tokenize == "given":
            return Grams([moses_words(text) for text in self.replies], [moses_words(text) for text in self.responses])
        return Grams(
            [[token.lower() for token in tokens] for tokens in self.reply_tokens],
            [[token.lower() for token in tokens] for tokens in self.response_tokens],
        )

    @cached_property
    def reply_sentiment(self) -> Values:
        """VADER's compound score of each reply."""
        return np.array([compound(text) for text in self.replies])

    @cached_property
    def response_sentiment(self) -> Values:
        """VADER's compound score of each response."""
        return np.array([compound(text) for text in self.responses])

    @cached_property
    def context_sentiment(self) -> Values:
        """VADER's compound score of each context."""
        return np.array([compound(text) for text in self.contexts])


@lru_cache(maxsize=50_000)
def compound(text: str) -> float:
    """VADER's compound score, -1 to 1; files to be compared share contexts and responses, so it remembers."""
    return float(_vader()(text)["compound"])


@lru_cache(maxsize=1)
def _vader() -> Callable[[str], dict[str, float]]:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    scores: Callable[[str], dict[str, float]] = SentimentIntensityAnalyzer().polarity_scores
    return scores

"""N-grams of many texts at once, as arrays: which text holds which n-gram.

Words and n-grams become numbers, shared by replies and responses, so that counting, clipping and finding what is
new are array operations: a file of five thousand replies takes a few hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np

from harken.scoring.statistics import Integers, Values

Texts = Sequence[Sequence[Hashable]]


class Grams:
    """The n-grams of N replies and of their responses; text *i* is a reply for i < N, then come the responses."""

    def __init__(self, replies: Texts, responses: Texts = ()) -> None:
        self.count = len(replies)
        texts = [*replies, *responses]
        lengths = np.fromiter((len(text) for text in texts), dtype=np.int64, count=len(texts))
        self.reply_lengths = lengths[: self.count]
        self.response_lengths = lengths[self.count :]
        numbers: dict[Hashable, int] = {}
        self._words = np.fromiter(
            (numbers.setdefault(word, len(numbers)) for text in texts for word in text),
            dtype=np.int64,
            count=int(lengths.sum()),
        )
        self._texts = np.repeat(np.arange(len(texts)), lengths)
        self._orders: dict[int, tuple[Integers, Integers]] = {1: (self._texts, self._words)}
        self._size = max(1, len(numbers))

    def of(self, order: int) -> tuple[Integers, Integers]:
        """All n-grams of that order in reading order: the text each stands in, and its number."""
        if order not in self._orders:
            texts, grams = self.of(order - 1)
            # An n-gram is an (n-1)-gram and the word after it; both stand at the same place of the running text.
            starts = self._starts(order - 1)
            follows = starts + order - 1
            inside = follows < len(self._words)
            inside[inside] = self._texts[follows[inside]] == texts[inside]
            pairs = grams[inside] * self._size + self._words[follows[inside]]
            self._orders[order] = (texts[inside], np.unique(pairs, return_inverse=True)[1].astype(np.int64))
        return self._orders[order]

    def _starts(self, order: int) -> Integers:
        """Where in the running text each n-gram of that order begins."""
        places = np.arange(len(self._words))
        last = np.cumsum(np.concatenate([self.reply_lengths, self.response_lengths]))
        return places[last[self._texts] - places >= order]

    def reply_grams(self, order: int) -> tuple[Integers, Integers]:
        """As `of`, of the replies alone."""
        texts, grams = self.of(order)
        own = texts < self.count
        return texts[own], grams[own]

    def totals(self, order: int) -> Integers:
        """How many n-grams each reply has, (N,)."""
        return np.maximum(0, self.reply_lengths - order + 1)

    def matches(self, order: int) -> Integers:
        """How many of each reply's n-grams its response has too, each as often as the response has it, (N,)."""
        texts, grams = self.of(order)
        size = int(grams.max(initial=0)) + 1
        own = texts < self.count
        mine, have = np.unique(texts[own] * size + grams[own], return_counts=True)
        theirs, want = np.unique((texts[~own] - self.count) * size + grams[~own], return_counts=True)
        common, here, there = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
        clipped = np.minimum(have[here], want[there])
        return np.bincount(common // size, weights=clipped, minlength=self.count).astype(np.int64)

    @cached_property
    def overlap(self) -> Values:
        """For BLEU, (N, 10): matches of order 1 to 4, n-grams of order 1 to 4, tokens of the reply, of the response."""
        columns = [self.matches(order) for order in range(1, 5)] + [self.totals(order) for order in range(1, 5)]
        return np.column_stack([*columns, self.reply_lengths, self.response_lengths]).astype(np.float64)

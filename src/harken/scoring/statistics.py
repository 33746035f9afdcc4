"""Figures as functions of weights: one way to compute a value, its interval, a paired test and a breakdown.

A statistic holds what each example contributes and answers one question: what is the figure of a sample in which
example *i* stands `weights[s, i]` times? All ones give the value itself; resampled counts give the bootstrap; zeros
leave examples out; the two halves of a doubled file give two systems. Every row of weights is one sample, (S, N)
in, (S,) out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]
Integers = NDArray[np.int64]
Resampling = Literal["bootstrap", "halves"]
"""How a statistic's spread is found; `uncertainty.py` says why there are two ways."""


class Statistic(Protocol):
    """What a metric measured on the examples of a file."""

    @property
    def resampling(self) -> Resampling:
        """How to find its spread."""
        ...

    def __call__(self, weights: Values) -> Values:
        """The figure of each sample, (S, N) -> (S,)."""
        ...

    def take(self, examples: Integers) -> Statistic:
        """The same statistic of some of the examples."""
        ...


@dataclass(frozen=True)
class Sums:
    """A figure that depends on the examples only through sums: BLEU, means, F1, perplexity."""

    columns: Values  # (N, K)
    finish: Callable[[Values], Values]  # (S, K) -> (S,)
    resampling: Resampling = "bootstrap"

    def __call__(self, weights: Values) -> Values:
        """Sum each column, then finish."""
        return self.finish(weights @ self.columns)

    def take(self, examples: Integers) -> Sums:
        """The rows of those examples."""
        return Sums(self.columns[examples], self.finish, self.resampling)


@dataclass(frozen=True)
class Kinds:
    """A figure that counts how many different things a sample holds (words, bigrams, replies), beside sums.

    `examples[t]` holds the thing `kinds[t]`; each such pair stands once.
    """

    examples: Integers  # (T,)
    kinds: Integers  # (T,)
    columns: Values  # (N, K)
    finish: Callable[[Values, Values], Values]  # different things (S,), sums (S, K) -> (S,)
    resampling: Resampling = "halves"

    def __call__(self, weights: Values) -> Values:
        """Count the things that some example of weight above zero holds, sum the columns, then finish."""
        size = int(self.kinds.max(initial=-1)) + 1
        different = np.empty(len(weights))
        for sample, row in enumerate(weights > 0):
            seen = np.zeros(size, dtype=bool)
            seen[self.kinds[row[self.examples]]] = True
            different[sample] = np.count_nonzero(seen)
        return self.finish(different, weights @ self.columns)

    def take(self, examples: Integers) -> Kinds:
        """The pairs of those examples, renumbered."""
        place = np.full(len(self.columns), -1, dtype=np.int64)
        place[examples] = np.arange(len(examples))
        kept = place[self.examples] >= 0
        return Kinds(place[self.examples[kept]], self.kinds[kept], self.columns[examples], self.finish, self.resampling)


@dataclass(frozen=True)
class Mode:
    """The share of the most frequent thing, in percent; example *i* holds the thing `kinds[i]`."""

    kinds: Integers  # (N,)
    resampling: Resampling = "halves"

    def __call__(self, weights: Values) -> Values:
        """The largest sum of weights of one thing, over the sum of all weights."""
        largest = [np.bincount(self.kinds, weights=row).max() for row in weights]
        return 100.0 * ratio(np.array(largest), weights.sum(axis=1))

    def take(self, examples: Integers) -> Mode:
        """The things of those examples."""
        return Mode(self.kinds[examples], self.resampling)


def mean(values: ArrayLike, *, scale: float = 1.0) -> Sums:
    """The mean of one number per example, times `scale`."""
    column = np.asarray(values, dtype=np.float64)
    return Sums(np.column_stack([column, np.ones_like(column)]), lambda sums: scale * ratio(sums[:, 0], sums[:, 1]))


def ratio(part: Values, whole: Values) -> Values:
    """`part / whole`, and 0 where there is nothing to divide by."""
    return np.divide(part, whole, out=np.zeros_like(whole, dtype=np.float64), where=whole != 0)

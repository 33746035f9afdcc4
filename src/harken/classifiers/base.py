"""One interface for all classifiers: texts in, calibrated probabilities out.

A *scorer* gives a number per label, in whatever way its kind does (a fine-tuned encoder, a linear reading of sentence
vectors, fastText, VADER); the `Classifier` around it divides by the temperature found on validation data and takes
the softmax. Its `hash` names weights, labels and temperature, so that a label file says what made it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from harken.errors import HarkenError

Floats = NDArray[np.float32]
Item = str | tuple[str, str]
"""A text, or a pair: what was said, and what was answered."""
Advance = Callable[[int], None]
"""Hears how many more items are done."""


class Scorer(Protocol):
    """Whatever gives each label of a task a score."""

    def scores(self, items: Sequence[Item], advance: Advance | None = None) -> Floats:
        """Logits, (N, L)."""


@dataclass(frozen=True)
class Classifier:
    """A scorer with its labels and its temperature."""

    task: str
    labels: tuple[str, ...]
    scorer: Scorer
    hash: str
    pairs: bool = False
    """Whether it reads pairs instead of texts."""
    temperature: float = 1.0

    def probabilities(self, items: Sequence[Item], advance: Advance | None = None) -> Floats:
        """One row a text or pair, in their order, (N, L)."""
        for item in items:
            if isinstance(item, str) == self.pairs:
                needs = "pairs (what was said, what was answered)" if self.pairs else "single texts"
                raise HarkenError(
                    f"the classifier of '{self.task}' reads {needs}; '{str(item)[:40]}' is something else"
                )
        if not items:
            return np.zeros((0, len(self.labels)), dtype=np.float32)
        return softmax(self.scorer.scores(items, advance) / self.temperature)


def softmax(scores: Floats) -> Floats:
    """Over the labels, (N, L) -> (N, L)."""
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True), dtype=np.float32)


def halves(items: Sequence[Item]) -> tuple[list[str], list[str] | None]:
    """The texts, or the first and the second halves of pairs."""
    if items and isinstance(items[0], tuple):
        return [item[0] for item in items], [item[1] for item in items]
    return [str(item) for item in items], None


def length(item: Item) -> int:
    """Characters, by which items are sorted into batches of like length."""
    return len(item) if isinstance(item, str) else len(item[0]) + len(item[1])

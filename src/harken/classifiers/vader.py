"""Sentiment by VADER (Hutto and Gilbert 2014): a lexicon and rules, nothing trained.

VADER has no probabilities: its compound score, -1 to 1, falls into one of three labels at its authors' thresholds, and
that label gets all the probability. LEMPEx reads the compound score itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from harken.classifiers.base import Advance, Classifier, Floats, Item, halves

SENTIMENT = "sentiment"
SIDES = ("negative", "neutral", "positive")
THRESHOLD = 0.05
_NEVER = -1e4


@dataclass
class Vader:
    """The analyser as a scorer."""

    analyser: SentimentIntensityAnalyzer = field(default_factory=SentimentIntensityAnalyzer)

    def compound(self, texts: Iterable[str]) -> Floats:
        """-1 for the most negative to 1 for the most positive, (N,)."""
        return np.array([self.analyser.polarity_scores(text)["compound"] for text in texts], dtype=np.float32)

    def scores(self, items: Sequence[Item], advance: Advance | None = None) -> Floats:
        """0 for the label, and far below for the others, (N, 3)."""
        found = self.compound(halves(items)[0])
        side = 1 + (found >= THRESHOLD).astype(int) - (found <= -THRESHOLD).astype(int)
        if advance is not None:
            advance(len(items))
        return np.where(np.arange(3) == side[:, None], 0.0, _NEVER).astype(np.float32)


def vader() -> Classifier:
    """The classifier of sentiment; its hash is VADER's version."""
    return Classifier(SENTIMENT, SIDES, Vader(), f"vader-{version('vaderSentiment')}")

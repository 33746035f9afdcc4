"""Predicted against gold: emotion accuracy among the k likeliest, and precision, recall and F1 of labels.

Names are compared without regard to case. Averages over labels are scikit-learn's: *macro* is the plain mean over
every label that is gold or predicted somewhere, *weighted* weighs each label by how often it is gold; what is
undefined (a label never predicted, or never gold) counts as nought.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from harken.scoring.material import Material
from harken.scoring.metrics.base import Metric
from harken.scoring.score import PERCENT, Measured
from harken.scoring.statistics import Sums, Values, mean, ratio

Average = Literal["weighted", "macro"]
Part = Literal["precision", "recall", "f1"]


def _plain(name: str | None) -> str:
    return (name or "").strip().lower()


def _top(k: int) -> Metric:
    """The share of examples whose gold emotion is among the k that were thought likeliest."""

    def measure(material: Material) -> Measured:
        hits = [
            _plain(record.emotion) in [_plain(name) for name in record.ranked_emotions()[:k]]
            for record in material.records
        ]
        return Measured(f"emotion-top{k}", mean(hits, scale=100.0), len(material), PERCENT, {"among": str(k)})

    def lacks(material: Material) -> str | None:
        fewest = min(len(record.ranked_emotions()) for record in material.records)
        if fewest >= k:
            return None
        return f"'predicted_emotion' must rank at least {k} emotions on every line, but some have {fewest}"

    return Metric(
        name=f"emotion-top{k}",
        title=f"emotion accuracy, top {k}",
        reported_by="MoEL, MIME",
        measure=measure,
        needs=("emotion", "predicted_emotion"),
        lacks=lacks,
    )


def averaged(part: Part, average: Average) -> Callable[[Values], Values]:
    """The function of sums of true positives, gold and predicted counts per label, (S, 3L) -> (S,), in percent."""

    def finish(sums: Values) -> Values:
        right, gold, guessed = np.split(sums, 3, axis=1)
        whole = {"precision": guessed, "recall": gold, "f1": gold + guessed}[part]
        scores = ratio((2.0 if part == "f1" else 1.0) * right, whole)
        weights = gold if average == "weighted" else ((gold + guessed) > 0).astype(np.float64)
        return 100.0 * ratio((scores * weights).sum(axis=1), weights.sum(axis=1))

    return finish


def counts(gold: ArrayLike, guessed: ArrayLike) -> Values:
    """Whether each example is right for, gold, and predicted as each label, two of (N,) -> (N, 3L)."""
    both = np.asarray(gold), np.asarray(guessed)
    labels = np.unique(np.concatenate(both))
    is_gold, is_guessed = (given[:, None] == labels for given in both)
    return np.hstack([is_gold & is_guessed, is_gold, is_guessed]).astype(np.float64)


def _label(part: Part, average: Average) -> Metric:
    name = f"label-{part}-{average}"

    def measure(material: Material) -> Measured:
        gold = [_plain(record.label) for record in material.records]
        guessed = [_plain(record.predicted_label) for record in material.records]
        statistic = Sums(counts(gold, guessed), averaged(part, average))
        return Measured(name, statistic, len(material), PERCENT, {"average": average})

    return Metric(
        name=name,
        title=f"label {'F1' if part == 'f1' else part}, {average}",
        reported_by="MEED2 as a ratio" if average == "weighted" else "LEMPEx",
        measure=measure,
        needs=("label", "predicted_label"),
    )


AVERAGES: tuple[Average, ...] = ("weighted", "macro")
PARTS: tuple[Part, ...] = ("precision", "recall", "f1")
LABELS = (*(_top(k) for k in (1, 2, 5)), *(_label(part, average) for average in AVERAGES for part in PARTS))

"""How good a classifier is, and how much its probabilities can be trusted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from harken.classifiers.base import Floats, softmax

BINS = 15
_COLDEST, _HOTTEST, _TRIES = -3.0, 3.0, 61
"""Natural logarithms of the temperatures that are tried: 0.05 to 20."""


def figures(probabilities: Floats, gold: Sequence[int]) -> dict[str, float | int]:
    """Accuracy, F1 (macro: every label alike; weighted: by how often it is gold), calibration error, likelihood."""
    best, true = probabilities.argmax(axis=1), np.asarray(gold)
    labels = range(probabilities.shape[1])
    found = {
        "accuracy": float((best == true).mean()),
        "macro_f1": float(f1_score(true, best, labels=labels, average="macro", zero_division=0)),
        "weighted_f1": float(f1_score(true, best, labels=labels, average="weighted", zero_division=0)),
        "calibration_error": calibration_error(probabilities, gold),
        "nll": nll(probabilities, gold),
    }
    return {name: round(value, 6) for name, value in found.items()} | {"examples": len(gold)}


def calibration_error(probabilities: Floats, gold: Sequence[int], bins: int = BINS) -> float:
    """Expected calibration error (Guo et al. 2017, Eq. 3): bins of like confidence, |accuracy - confidence| by size.

    0.02 means that "70 % sure" is right in 68 to 72 of 100 cases, in the mean.
    """
    sure = probabilities.max(axis=1).astype(np.float64)  # (N,)
    right = probabilities.argmax(axis=1) == np.asarray(gold)  # (N,)
    place: NDArray[np.int64] = np.minimum((sure * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(place, right - sure, minlength=bins)  # n_b (acc_b - conf_b)
    return float(np.abs(gaps).sum() / len(sure))


def nll(probabilities: Floats, gold: Sequence[int]) -> float:
    """The mean negative log-likelihood of the gold labels."""
    chances = probabilities[np.arange(len(gold)), np.asarray(gold)].astype(np.float64)
    return float(-np.log(np.maximum(chances, 1e-12)).mean())


def best_temperature(scores: Floats, gold: Sequence[int]) -> float:
    """The temperature T at which softmax(scores / T) finds the gold labels likeliest (Guo et al. 2017, section 4.2).

    The likelihood has one peak in 1 / T, so a grid and a finer one around its best find it.
    """
    low, high = _COLDEST, _HOTTEST
    for _ in range(3):
        tried = np.linspace(low, high, _TRIES)
        likelihoods = [nll(softmax(scores / np.float32(np.exp(t))), gold) for t in tried]
        at = int(np.argmin(likelihoods))
        low, high = tried[max(0, at - 1)], tried[min(_TRIES - 1, at + 1)]
    return float(np.exp(tried[at]))

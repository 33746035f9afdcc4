"""A linear reading of sentence vectors, kept as two small arrays.

Linear discriminant analysis with a shrunk covariance: closed form, so it is fitted in a second over thousands of
vectors, and with a few dozen examples a class it reads new text at least as well as logistic regression. scikit-learn
fits it; reading needs only numpy, so a fitted head loads in no time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harken.text.encoder import Vectors


@dataclass(frozen=True)
class Linear:
    """A softmax over linear scores."""

    weight: NDArray[np.float32]  # (C, D)
    bias: NDArray[np.float32]  # (C,)

    def probabilities(self, vectors: Vectors) -> NDArray[np.float32]:
        """(N, D) -> (N, C)"""
        scores = vectors @ self.weight.T + self.bias
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True), dtype=np.float32)


def fit(
    vectors: Vectors, classes: Sequence[int], count: int, *, shrinkage: float = 0.3, temperature: float = 1.0
) -> Linear:
    """The head that tells `count` classes apart, rare ones counting as much as frequent ones.

    A class without examples gets a score that no softmax will choose. The analysis takes its Gaussians at their word
    and is far too sure of itself on new text; a temperature above 1, chosen on held-out dialogues, mends that.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    weight = np.zeros((count, vectors.shape[1]), dtype=np.float32)
    bias = np.full(count, -1e4, dtype=np.float32)
    seen = sorted(set(classes))
    if len(seen) == 1 or len(seen) == len(classes):  # one class, or one example each: nothing to tell apart by
        bias[seen] = 0.0
    elif seen:
        alike = np.full(len(seen), 1 / len(seen))
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage, priors=alike).fit(vectors, classes)
        if len(seen) == 2:  # scikit-learn keeps one row of scores for two classes
            weight[seen[1]], bias[seen] = model.coef_[0] / temperature, (0.0, model.intercept_[0] / temperature)
        else:
            weight[seen], bias[seen] = model.coef_ / temperature, model.intercept_ / temperature
    return Linear(weight, bias)

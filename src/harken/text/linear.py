"""A linear reading of sentence vectors: multinomial logistic regression, kept as two small arrays.

scikit-learn fits it; reading needs only numpy, so a fitted head loads in no time.
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


def fit(vectors: Vectors, classes: Sequence[int], count: int, *, strength: float = 3.0) -> Linear:
    """The head that tells `count` classes apart, rare ones counting as much as frequent ones.

    A class without examples gets a score that no softmax will choose. `strength` is scikit-learn's C.
    """
    from sklearn.linear_model import LogisticRegression

    weight = np.zeros((count, vectors.shape[1]), dtype=np.float32)
    bias = np.full(count, -1e4, dtype=np.float32)
    seen = sorted(set(classes))
    if len(seen) == 1:
        bias[seen] = 0.0
    elif len(seen) > 1:
        model = LogisticRegression(C=strength, max_iter=500, class_weight="balanced").fit(vectors, classes)
        if len(seen) == 2:  # scikit-learn keeps one row of scores for two classes
            weight[seen[1]], bias[seen] = model.coef_[0], (0.0, model.intercept_[0])
        else:
            weight[seen], bias[seen] = model.coef_, model.intercept_
    return Linear(weight, bias)

"""Where the gold response stands among others, by the vectors of a ranker.

P@1,100 (EmpatheticDialogues): the examples are cut into blocks of 100, and each context must find its own response
among the block's 100. In the order of the file, neighbours come from one conversation and resemble each other, so
blocks are harder than shuffled ones. A last block that is not full is left out. Candidates that score the same as the
gold one (the same words, often) share their places: two at the top count a half each, so that no figure depends on how
ties happen to be broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harken.errors import HarkenError

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]
Values = NDArray[np.float64]
_SAME = 1e-6
"""Scores this near in proportion are the same: equal texts may differ in the last bits of a float32 product."""


@dataclass(frozen=True)
class Ranks:
    """Where the gold candidate of each example stands."""

    above: Integers  # (N,) candidates with a higher score
    tied: Integers  # (N,) candidates with the same score, the gold one among them
    candidates: int

    def hits(self, k: int) -> Values:
        """The chance that the gold candidate is among the first k, ties broken at random, (N,)."""
        return np.asarray(np.clip((k - self.above) / self.tied, 0.0, 1.0))

    def reciprocal(self) -> Values:
        """The expected 1 / rank, ties broken at random, (N,)."""
        harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, self.candidates + 1))])
        chances: Values = (harmonic[self.above + self.tied] - harmonic[self.above]) / self.tied
        return chances


def ranks(scores: Floats, gold: Integers | Sequence[int]) -> Ranks:
    """From a matrix of scores, (N, C), and the column of each row's gold candidate."""
    gold = np.asarray(gold)
    if scores.ndim != 2 or len(gold) != len(scores):
        raise HarkenError(f"{len(gold)} gold candidates do not fit scores of shape {scores.shape}; give one a row")
    if not np.isfinite(scores).all():
        raise HarkenError("a score is not a number; ranking needs finite scores")
    own = scores[np.arange(len(scores)), gold][:, None].astype(np.float64)
    gap = scores - own
    reach = _SAME * np.maximum(1.0, np.abs(own))
    same = np.abs(gap) <= reach
    return Ranks((gap > reach).sum(axis=1), same.sum(axis=1), scores.shape[1])


def ranks_in_blocks(contexts: Floats, responses: Floats, *, size: int = 100, seed: int | None = 13) -> Ranks:
    """From vectors of contexts and of their responses, (N, D) each, by dot product within blocks of `size`.

    The examples are shuffled with `seed` first; None keeps the order of the file.
    """
    n = len(contexts)
    if contexts.shape != responses.shape:
        raise HarkenError(f"contexts {contexts.shape} and responses {responses.shape} must have the same shape")
    if n < size:
        raise HarkenError(f"ranking among {size} needs at least {size} examples, and there are {n}")
    order = np.arange(n) if seed is None else np.random.default_rng(seed).permutation(n)
    blocks = order[: n - n % size].reshape(-1, size)
    found = [ranks(contexts[block] @ responses[block].T, np.arange(size)) for block in blocks]
    return Ranks(np.concatenate([one.above for one in found]), np.concatenate([one.tied for one in found]), size)


def figures(contexts: Floats, responses: Floats, *, size: int = 100, seed: int = 13) -> dict[str, float]:
    """What a ranker reports of itself, in percent: P@1 in shuffled blocks and in order, recall@10, and the MRR."""
    shuffled = ranks_in_blocks(contexts, responses, size=size, seed=seed)
    inorder = ranks_in_blocks(contexts, responses, size=size, seed=None)
    return {
        f"p@1,{size}": 100 * float(shuffled.hits(1).mean()),
        f"p@1,{size}-inorder": 100 * float(inorder.hits(1).mean()),
        "recall@10": 100 * float(shuffled.hits(10).mean()),
        "mrr": float(shuffled.reciprocal().mean()),
    }

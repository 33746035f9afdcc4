"""How well a ranker finds the gold response among others, as Scores: P@1,100, recall@k, mean reciprocal rank.

The ranks are `retrieval.ranking`'s. Blocks in the order of the file are harder than shuffled ones, so the two are
different figures: `p@1,100` (shuffled, with its seed) and `p@1,100-inorder`.
"""

from __future__ import annotations

from collections.abc import Sequence

from harken.retrieval.ranking import Floats, Ranks, ranks, ranks_in_blocks
from harken.scoring.score import PERCENT, Measured, Score
from harken.scoring.statistics import mean
from harken.scoring.uncertainty import Resamples, with_intervals

__all__ = ["Ranks", "ranks", "ranks_in_blocks", "score_matrix", "score_vectors"]


def score_vectors(
    contexts: Floats,
    responses: Floats,
    *,
    size: int = 100,
    recall_at: Sequence[int] = (3, 10),
    seed: int = 13,
    resamples: Resamples | None = None,
) -> list[Score]:
    """`p@1,100` and `p@1,100-inorder` of a ranker, with recall@k and MRR of the shuffled blocks."""
    shuffled = ranks_in_blocks(contexts, responses, size=size, seed=seed)
    inorder = ranks_in_blocks(contexts, responses, size=size, seed=None)
    details = {"candidates": str(size), "order": "shuffled", "seed": str(seed), "ties": "shared"}
    plain = {"candidates": str(size), "order": "file", "ties": "shared"}
    measured = [
        _share(f"p@1,{size}", shuffled, 1, details),
        _share(f"p@1,{size}-inorder", inorder, 1, plain),
        *_common(shuffled, recall_at, details),
    ]
    return with_intervals(measured, resamples or Resamples())


def score_matrix(
    scores: Floats, gold: Sequence[int], *, recall_at: Sequence[int] = (1, 3, 10), resamples: Resamples | None = None
) -> list[Score]:
    """Recall@k and the mean reciprocal rank of a matrix of scores, all candidates in one list."""
    found = ranks(scores, gold)
    details = {"candidates": str(found.candidates), "ties": "shared"}
    return with_intervals(_common(found, recall_at, details), resamples or Resamples())


def _common(found: Ranks, recall_at: Sequence[int], details: dict[str, str]) -> list[Measured]:
    reciprocal = Measured("mrr", mean(found.reciprocal()), len(found.above), "ratio", details)
    return [*(_share(f"recall@{k}", found, k, details) for k in recall_at), reciprocal]


def _share(name: str, found: Ranks, k: int, details: dict[str, str]) -> Measured:
    return Measured(name, mean(found.hits(k), scale=100.0), len(found.above), PERCENT, details)

"""Ranking measures, worked by hand and against plain sorting."""

from __future__ import annotations

import numpy as np
import pytest

from harken.errors import HarkenError
from harken.scoring.ranking import ranks, ranks_in_blocks, score_matrix, score_vectors
from harken.scoring.uncertainty import Resamples

FEW = Resamples(samples=50)


def test_recall_and_reciprocal_rank_by_hand() -> None:
    """Gold at rank 1, 2 and 4: recall@1 is 1/3, recall@2 is 2/3, the mean reciprocal rank (1 + 1/2 + 1/4) / 3."""
    scores = np.array([[9.0, 1, 2, 3], [9, 8, 2, 3], [4, 3, 2, 1]])
    found = {one.metric: one for one in score_matrix(scores, [0, 1, 3], recall_at=(1, 2), resamples=FEW)}
    assert found["recall@1"].value == pytest.approx(100 / 3)
    assert found["recall@2"].value == pytest.approx(200 / 3)
    assert found["mrr"].value == pytest.approx((1 + 1 / 2 + 1 / 4) / 3)
    assert found["recall@1"].signature == "recall@1|candidates:4|ties:shared|unit:percent|n:3|v:0.1.0"


def test_ties_share_their_places() -> None:
    """Three candidates tie for the first place: a third of a hit, and (1 + 1/2 + 1/3) / 3 of a reciprocal rank."""
    found = ranks(np.array([[5.0, 5, 5, 1]]), [1])
    assert found.hits(1).tolist() == pytest.approx([1 / 3])
    assert found.hits(2).tolist() == pytest.approx([2 / 3])
    assert found.hits(3).tolist() == [1]
    assert found.reciprocal().tolist() == pytest.approx([(1 + 1 / 2 + 1 / 3) / 3])


def test_without_ties_it_is_plain_sorting() -> None:
    rng = np.random.default_rng(0)
    scores, gold = rng.normal(size=(50, 20)), rng.integers(0, 20, 50)
    found = ranks(scores, gold)
    for row, place in enumerate(gold):
        rank = 1 + int((scores[row] > scores[row, place]).sum())
        assert found.reciprocal()[row] == pytest.approx(1 / rank)
        assert found.hits(3)[row] == (rank <= 3)


def test_blocks_rank_against_their_own_hundred_only() -> None:
    """Two blocks of two by hand: in order, 0 finds 0 and 1 finds 0; 2 and 3 find themselves: three of four."""
    contexts = np.array([[1.0, 0], [1, 0.1], [0, 1], [1, 1], [7, 7]])
    responses = np.array([[1.0, 0], [0.5, 0], [0, 1], [3, 0], [0, 0]])
    found = ranks_in_blocks(contexts, responses, size=2, seed=None)
    assert found.hits(1).tolist() == [1, 0, 1, 1]  # the fifth example has no full block


def test_shuffled_and_in_order_are_two_figures() -> None:
    """Where neighbours resemble each other, as turns of one conversation do, blocks in order are harder."""
    rng = np.random.default_rng(0)
    topics = np.repeat(rng.normal(size=(40, 16)), 25, axis=0)
    contexts = topics + 0.5 * rng.normal(size=topics.shape)
    responses = topics + 0.5 * (contexts - topics) + 0.5 * rng.normal(size=topics.shape)
    found = {one.metric: one for one in score_vectors(contexts, responses, resamples=FEW)}
    assert list(found) == ["p@1,100", "p@1,100-inorder", "recall@3", "recall@10", "mrr"]
    assert found["p@1,100"].value > found["p@1,100-inorder"].value + 5
    assert "|order:shuffled|seed:13|" in found["p@1,100"].signature
    assert "|order:file|" in found["p@1,100-inorder"].signature
    assert found["p@1,100"].n == 1000
    again = score_vectors(contexts, responses, resamples=FEW)
    assert again[0] == found["p@1,100"]
    assert score_vectors(contexts, responses, seed=5, resamples=FEW)[0].value != found["p@1,100"].value


def test_a_perfect_ranker_and_one_that_guesses() -> None:
    perfect = score_vectors(np.eye(200), np.eye(200), resamples=FEW)
    assert [one.value for one in perfect] == [100, 100, 100, 100, 1]
    guess = score_vectors(np.ones((200, 3)), np.ones((200, 3)), recall_at=(10,), resamples=FEW)
    assert [one.value for one in guess[:3]] == pytest.approx([1, 1, 10])


def test_what_cannot_be_ranked() -> None:
    with pytest.raises(HarkenError, match="needs at least 100 examples, and there are 99"):
        score_vectors(np.ones((99, 3)), np.ones((99, 3)))
    with pytest.raises(HarkenError, match="must have the same shape"):
        score_vectors(np.ones((100, 3)), np.ones((100, 4)))
    with pytest.raises(HarkenError, match="give one a row"):
        ranks(np.ones((3, 4)), [0, 1])
    with pytest.raises(HarkenError, match="not a number"):
        ranks(np.array([[1.0, np.nan]]), [0])

"""How Multi-TR reads the emotion, worked by hand; what it shares with every generator is in the contract tests."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from harken.models.pretrained import mean_pooled
from harken.models.transformer import MultiTr, MultiTrConfig
from harken.text.batches import Batch, Encoded, collate
from harken.text.vocabulary import CLS, EOS, SPECIALS, USR, Words

WORDS = Words(["rain", "sun", "snow"])
RAIN, SUN, SNOW = (len(SPECIALS) + i for i in range(3))


def batch(*contexts: list[int]) -> Batch:
    return collate([Encoded([CLS, *words], [CLS] + [USR] * len(words), [SUN, EOS], [], 0) for words in contexts])


def network(**values: object) -> MultiTr:
    torch.manual_seed(0)
    return MultiTr(MultiTrConfig(d_model=8, depth=4, d_inner=8, **values), WORDS).eval()  # type: ignore[arg-type]


def logits(model: MultiTr, *contexts: list[int]) -> Tensor:
    found = model.encode(batch(*contexts)).emotion_logits
    assert found is not None
    return found


def test_the_mean_leaves_padding_out() -> None:
    """Of the states 1, 3 and 100, the last one padding, the mean is 2."""
    states = torch.tensor([[[1.0], [3.0], [100.0]]])
    assert mean_pooled(states, torch.tensor([[True, True, False]])).tolist() == [[2.0]]


def test_each_word_has_a_vote() -> None:
    """Four tokens, [CLS] without a vote; two say 3 and one says 1: (3 + 3 + 1) / sqrt(4) = 3.5."""
    model = network(pooling="wide")
    torch.nn.init.zeros_(model.emotion.weight)
    assert model.votes is not None
    model.votes.weight.data[RAIN, 5] = 3.0
    model.votes.weight.data[SUN, 5] = 1.0
    found = logits(model, [RAIN, RAIN, SUN])
    assert found[0, 5].item() == pytest.approx(7 / math.sqrt(4))
    assert found.sum().item() == pytest.approx(3.5)


@pytest.mark.parametrize("pooling", ["cls", "mean", "wide"])
def test_padding_never_changes_the_reading(pooling: str) -> None:
    model = network(pooling=pooling)
    if model.votes is not None:
        torch.nn.init.normal_(model.votes.weight)
    alone, padded = logits(model, [RAIN, SUN]), logits(model, [RAIN, SUN], [SNOW] * 9)
    torch.testing.assert_close(alone[0], padded[0])


def test_words_are_hidden_in_training_alone_and_never_the_first() -> None:
    """With half of 2,000 words hidden, about half of the embeddings are zero; measuring sees all of them."""
    model, contexts = network(word_dropout=0.5), batch([SNOW] * 2000)
    assert (model.context_embeddings(contexts) != 0).all()
    shown = (model.train().context_embeddings(contexts) != 0).any(-1)[0]
    assert shown[0]
    assert 850 < int(shown[1:].sum()) < 1150


def test_a_share_of_words_beyond_one_is_a_mistake() -> None:
    assert any("word_dropout = 1.5" in problem for problem in MultiTrConfig(word_dropout=1.5).problems())

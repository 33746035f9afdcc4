"""EmpDG's generator: copying by hand, emotion words, and soft tokens that are hard at a one-hot."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from harken.errors import HarkenError
from harken.models.empdg import Empdg, EmpdgConfig, emotion_words, read_lexicon, to_front
from harken.models.losses import token_nll
from harken.models.pointer import Copying, Pointer, attend, copied, mixed, mixture, soft_tokens, word_terms
from harken.text.batches import Batch, Encoded, collate
from harken.text.vocabulary import CLS, EOS, SPECIALS, UNK, USR, Words
from harken.training.config import load_config

WORDS = Words("happy sad dog the a cried awful oh no old".split())
HAPPY, SAD, DOG, THE, A, CRIED, AWFUL, OH, NO, OLD = range(len(SPECIALS), len(WORDS))
NONE = torch.zeros(1, dtype=torch.bool)


def batch_of(*contexts: list[int]) -> Batch:
    return collate(
        [
            Encoded([CLS, *context], [CLS] + [USR] * len(context), [OH, NO, DOG, EOS][i:], [SAD, DOG], 3)
            for i, context in enumerate(contexts)
        ]
    )


@pytest.fixture
def batch() -> Batch:
    return batch_of([THE, SAD, DOG, CRIED], [A, HAPPY, DOG])


@pytest.fixture
def model() -> Empdg:
    torch.manual_seed(2)
    model = Empdg(EmpdgConfig(d_model=16, smoothing=0.1), WORDS)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        model.embedding.weight[0] = 0.0
    return model.eval()


def sure(keep: float, attention: list[float]) -> Copying:
    """One row, one position."""
    return Copying(torch.tensor([[keep]]).log(), torch.tensor([[1 - keep]]).log(), torch.tensor([[attention]]))


def test_copy_mixture_by_hand() -> None:
    """Four words, p_vocab = (.1, .2, .3, .4), p_gen = 1/2, a = (.5, .3, .2) on a context of words 2, 0, 2.

    P = ½ (.1, .2, .3, .4) + ½ (.3, 0, .7, 0) = (.2, .1, .5, .2).
    """
    logits = torch.tensor([[0.1, 0.2, 0.3, 0.4]]).log()
    context = torch.tensor([[2, 0, 2]])
    copying = sure(0.5, [0.5, 0.3, 0.2])
    expected = torch.tensor([[0.2, 0.1, 0.5, 0.2]])
    torch.testing.assert_close(mixture(logits, copying, context).exp(), expected)
    found = copied(copying.attention.expand(1, 4, 3), context, torch.arange(4).unsqueeze(0))  # every word as target
    torch.testing.assert_close(found, torch.tensor([[0.3, 0.0, 0.7, 0.0]]))
    log_p = mixed(logits[0], found[0], copying.log_keep[0], copying.log_copy[0])
    torch.testing.assert_close(log_p.exp(), expected[0])


def test_attention_by_hand() -> None:
    """Scores q·k / sqrt(4) of (0, ln 3, 9): the third is no word, so the weights are 1/4, 3/4, 0; no word, no weight."""
    keys = torch.tensor([[[0.0], [2 * math.log(3)], [18.0]]]).expand(1, 3, 4) / 4
    words = torch.tensor([[True, True, False]])
    weights = attend(torch.ones(1, 1, 4), keys, words)
    torch.testing.assert_close(weights, torch.tensor([[[0.25, 0.75, 0.0]]]))
    assert attend(torch.ones(1, 1, 4), keys, ~words & words).sum() == 0


def test_only_words_are_copied() -> None:
    """[CLS] and unknown words never are; a context of these alone leaves all to the vocabulary."""
    pointer = Pointer(EmpdgConfig(d_model=8))
    hidden, keys = torch.randn(2, 3, 8), torch.randn(2, 3, 40)
    copying = pointer(hidden, keys, torch.tensor([[CLS, UNK, DOG], [CLS, UNK, UNK]]))
    assert (copying.attention[0, :, :2] == 0).all()
    torch.testing.assert_close(copying.attention[0, :, 2], torch.ones(3))
    assert (copying.log_keep[0] < 0).all()
    assert (copying.log_keep[1] == 0).all()
    assert (copying.log_copy[1].exp() == 0).all()


def test_word_terms_by_hand_and_by_autograd() -> None:
    """Values and gradients of one fused product are those of softmax written out."""
    torch.manual_seed(0)
    output, states = nn.Linear(5, 9).double(), torch.randn(4, 5, dtype=torch.double, requires_grad=True)
    table, target = torch.randn(9, 3, dtype=torch.double), torch.tensor([1, 8, 3, 3])
    heard = torch.tensor([True, False, True, True])
    pull = [torch.randn(4), torch.randn(4), torch.randn(3, 3)]

    def plain() -> tuple[Tensor, Tensor, Tensor]:
        log_p = output(states).log_softmax(-1)
        gold = log_p.gather(1, target.unsqueeze(1)).squeeze(1)
        return gold, (log_p.sum(1) - log_p[:, 0] - gold) / 7, log_p.exp()[heard] @ table

    slopes = []
    for terms in (plain(), word_terms(states, output, target, table, heard)):
        total = sum((part * by).sum() for part, by in zip(terms, pull, strict=True))
        assert isinstance(total, Tensor)
        slopes.append((*terms, *torch.autograd.grad(total, [states, output.weight, output.bias])))
    for mine, theirs in zip(*slopes, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_soft_tokens_by_hand() -> None:
    """p_gen = ¼ of a mean vector (4, 0), and of the context (0, 8) and (4, 4) half each: ¼ (4, 0) + ¾ (2, 6)."""
    soft = soft_tokens(torch.tensor([[[4.0, 0.0]]]), torch.tensor([[[0.0, 8.0], [4.0, 4.0]]]), sure(0.25, [0.5, 0.5]))
    torch.testing.assert_close(soft, torch.tensor([[[2.5, 4.5]]]))


@pytest.mark.parametrize("source", ["vocabulary", "context"])
def test_soft_tokens_at_a_one_hot_are_the_hard_ones(source: str, model: Empdg) -> None:
    """Whether the vocabulary is sure of "dog" or the pointer copies the only word there is."""
    batch = batch_of([DOG])
    with torch.no_grad():
        model.pointer.gate.weight.zero_()
        model.pointer.gate.bias.fill_(50.0 if source == "vocabulary" else -50.0)
        model.output.weight.zero_()
        model.output.bias.fill_(0.0)[DOG] = 99.0
        _, soft = model.play(batch, ~NONE)
        torch.testing.assert_close(soft, model.heard(torch.full_like(batch.target, DOG)))


def test_soft_tokens_are_the_mean_under_what_step_gives(model: Empdg, batch: Batch) -> None:
    """The law both paths share: the vectors weighted by `step`'s probabilities, position by position."""
    heard = torch.tensor([False, True])
    with torch.inference_mode():
        _, soft = model.play(batch, heard)
        state, tokens = model.encode(batch), torch.full((2,), 3)
        for position in range(int((~batch.target_pad[1]).sum())):
            mean = model.step(tokens, state)[1].exp() @ model.heard(torch.arange(len(model.embedding.weight)))
            torch.testing.assert_close(soft[0, position], mean, atol=1e-5, rtol=1e-4)
            tokens = batch.target[:, position]


def test_the_smoothed_loss_by_hand(model: Empdg, batch: Batch) -> None:
    """With nothing to copy it is the family's; copying changes the likelihood of the gold words as `nll` has it."""
    bare = dataclasses.replace(batch, context=torch.where(batch.pad, 0, torch.full_like(batch.context, UNK)))
    state = model.encode(bare)
    logits = model.output(model.hidden(bare, state))
    expected = token_nll(logits, bare.target, bare.target_pad, smoothing=0.1)
    terms = model.losses(bare)
    torch.testing.assert_close(terms["response"].sum, expected.sum)
    plain = token_nll(logits, bare.target, bare.target_pad)
    torch.testing.assert_close(terms["nll"].sum, plain.sum.detach())
    torch.testing.assert_close(model.losses(batch)["nll"].sum, model.nll(batch, model.encode(batch)).sum().detach())


def test_emotion_words_come_to_the_front(model: Empdg, batch: Batch) -> None:
    """[CLS] the sad dog cried: [CLS] sad cried. VADER knows "cried", "sad" and "happy", not "dog"."""
    places, pad = model.emotional(batch)
    assert batch.context.gather(1, places).masked_fill(pad, 0).tolist() == [[CLS, SAD, CRIED], [CLS, HAPPY, 0]]


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=4))
def test_what_is_kept_stays_in_order(kept: list[list[bool]]) -> None:
    places, pad = to_front(torch.tensor(kept))
    for row, chosen, padding in zip(kept, places.tolist(), pad.tolist(), strict=True):
        assert [place for place, there in zip(chosen, padding, strict=True) if not there] == [
            place for place, keep in enumerate(row) if keep
        ]


def test_the_emotion_is_read_from_the_emotion_words(model: Empdg) -> None:
    """Words that are in no lexicon may change; an emotion word may not."""
    said, calm, other = ([THE, SAD, DOG], [A, SAD, OLD], [THE, AWFUL, DOG])
    read = [model.encode(batch_of(words)).emotion_logits for words in (said, calm, other)]
    assert all(logits is not None for logits in read)
    assert torch.equal(*read[:2])  # type: ignore[arg-type]
    assert not torch.allclose(*read[::2])  # type: ignore[arg-type]


def test_an_nrc_file_is_read_by_path(tmp_path: Path) -> None:
    """Three columns with a score, 0 meaning no; or a word a line. A header is no word."""
    nrc = tmp_path / "nrc.txt"
    nrc.write_text("English Word\tEmotion\tScore\ndog\tjoy\t1\ndog\tfear\t0\nold\tanger\t0\nAwful\tfear\t0.7\n\n")
    assert read_lexicon(nrc) == {"dog", "awful"}
    listed = emotion_words(WORDS.tokens, read_lexicon(nrc))
    assert listed.nonzero().squeeze(1).tolist() == [DOG, AWFUL]
    model = Empdg(EmpdgConfig(d_model=16, lexicon=nrc), WORDS)
    assert torch.equal(model.lexicon, listed)
    assert emotion_words(["Ġdog", "dogs"], {"dog"}).tolist() == [True, False]
    plain = tmp_path / "plain.txt"
    plain.write_text("dog\nold\n")
    assert read_lexicon(plain) == {"dog", "old"}


def test_a_file_that_is_no_lexicon(tmp_path: Path) -> None:
    wrong = tmp_path / "vad.txt"
    wrong.write_text("Word\tV\tA\tD\ndog\t.5\t.4\t.3\n")
    with pytest.raises(HarkenError, match=r"vad\.txt:2: a lexicon has a word a line"):
        read_lexicon(wrong)
    with pytest.raises(HarkenError, match="cannot be read as a lexicon"):
        read_lexicon(tmp_path / "none.txt")


def test_mistakes_in_the_config() -> None:
    path = Path(__file__).parents[1] / "configs" / "empdg.yaml"
    with pytest.raises(HarkenError) as caught:
        load_config(path, ["network.emotion_layers=0", "training.penalty=-1", "training.game_rate=0"])
    for part in ("network.emotion_layers = 0 must be", "training.penalty = -1.0 must not", "training.game_rate = 0.0"):
        assert part in str(caught.value)

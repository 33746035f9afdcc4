"""Layers and losses with their working."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harken.models.layers import (
    Attention,
    ConvFeedForward,
    Dropout,
    Embedding,
    Positions,
    Shape,
    Window,
    attendable,
    timing_signal,
)
from harken.models.losses import Term, emotion_hits, emotion_nll, perplexity, projected_nll, token_nll
from harken.models.stacks import Encoder
from harken.text.vocabulary import PAD


def identity_attention(heads: int = 1) -> Attention:
    attention = Attention(Shape(d_model=2, n_heads=heads, depth=2))
    for part in (attention.query, attention.key, attention.value, attention.output):
        part.weight.data = torch.eye(2)
    return attention


def test_attention_by_hand() -> None:
    """Query (√2, 0), keys (0, 0) and (ln 3, 0): scores √2 · ln 3 / √2 = ln 3 against 0, so weights 1/4 and 3/4."""
    attention = identity_attention()
    keys = torch.tensor([[[0.0, 0.0], [math.log(3), 0.0]]])
    values = torch.tensor([[[4.0, 0.0], [0.0, 8.0]]])
    seen = (attention.keys_and_values(keys)[0], attention.keys_and_values(values)[1])
    found = attention(torch.tensor([[[math.sqrt(2), 0.0]]]), seen)
    torch.testing.assert_close(found, torch.tensor([[[1.0, 6.0]]]))


def test_heads_attend_apart() -> None:
    """Two heads of one dimension: each weighs the values of its own half by its own scores."""
    attention = identity_attention(heads=2)
    x = torch.tensor([[[1.0, 0.0]]])
    keys = torch.tensor([[[0.0, 0.0], [math.log(3), math.log(9)]]])
    values = torch.tensor([[[4.0, 4.0], [8.0, 8.0]]])
    seen = (attention.keys_and_values(keys)[0], attention.keys_and_values(values)[1])
    # Head 1: scores 0, ln 3 -> 1/4 · 4 + 3/4 · 8 = 7. Head 2: query 0 -> the mean, 6.
    torch.testing.assert_close(attention(x, seen), torch.tensor([[[7.0, 6.0]]]))


def test_masked_keys_have_no_weight() -> None:
    attention = identity_attention()
    seen = attention.keys_and_values(torch.tensor([[[1.0, 0.0], [9.0, 9.0]]]))
    mask = attendable(torch.tensor([[False, True]]))
    torch.testing.assert_close(attention(torch.ones(1, 1, 2), seen, mask=mask), torch.tensor([[[1.0, 0.0]]]))


def test_timing_signal_by_hand() -> None:
    """Width 4 has two wavelengths, rates 1 and 1/10,000; position 3 is sin 3, sin .0003, cos 3, cos .0003."""
    expected = torch.tensor([math.sin(3), math.sin(3e-4), math.cos(3), math.cos(3e-4)])
    torch.testing.assert_close(timing_signal(4, 4)[3], expected)
    assert timing_signal(2, 5).shape == (2, 5)
    torch.testing.assert_close(Positions(4, length=2)(torch.zeros(1, 9, 4))[0], timing_signal(9, 4))


def test_a_window_is_a_convolution() -> None:
    x = torch.randn(2, 6, 3)
    for causal, padding in ((False, (1, 1)), (True, (2, 0))):
        window = Window(3, 5, causal=causal)
        kernel = window.weight.detach().view(5, 3, 3).transpose(1, 2)  # (out, in, width)
        slid = torch.nn.functional.conv1d(torch.nn.functional.pad(x.transpose(1, 2), padding), kernel, window.bias)
        torch.testing.assert_close(window(x), slid.transpose(1, 2))


def test_the_familys_feed_forward_never_goes_below_zero() -> None:
    """ReLU stands after the second convolution too."""
    assert ConvFeedForward(Shape(d_model=8), causal=True)(torch.randn(4, 9, 8)).min().item() == 0.0


def test_dropout_keeps_the_mean_and_drops_its_share() -> None:
    """Of a million ones a fifth go (51/256 exactly, ± 4 deviations); the rest are scaled by 256/205."""
    torch.manual_seed(1)
    x = torch.ones(1_000_001, requires_grad=True)
    y = Dropout(0.2)(x)
    assert abs((y == 0).float().mean().item() - 51 / 256) < 0.0016
    assert y.max().item() == pytest.approx(256 / 205)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())  # type: ignore[arg-type]
    assert Dropout(0.2).eval()(x) is x


def test_embeddings_are_scaled_by_the_root_of_their_width() -> None:
    table = Embedding(10, 16)
    torch.testing.assert_close(table(torch.tensor([9]))[0], table.weight[9] * 4)
    assert not table(torch.tensor([PAD])).any()


def test_an_encoder_may_read_wider_input() -> None:
    shape = Shape(d_model=8, project=False)
    assert Encoder(shape, 1, d_input=20)(torch.randn(2, 5, 20), torch.zeros(2, 5, dtype=torch.bool)).shape == (2, 5, 8)


def test_token_nll_by_hand() -> None:
    """P = 1/2, 1/4, 1/4: ln 2 for the first token, ln 4 for the second; the third is padding."""
    logits = torch.tensor([0.0, 0.5, 0.25, 0.25]).log().expand(1, 3, 4)
    term = token_nll(logits, torch.tensor([[1, 2, PAD]]), torch.tensor([[False, False, True]]))
    assert term.sum.item() == pytest.approx(math.log(2) + math.log(4))
    assert int(term.count) == 2
    assert perplexity(term) == pytest.approx(math.sqrt(8))


def test_label_smoothing_by_hand() -> None:
    """V = 4, ε = .1: .9 on the target, .1 / 2 on each other word, nothing on padding. All of P = 1/4: the loss is ln 4.

    With P = .1, .5, .2, .2 and target 1: -(.9 ln .5 + .05 ln .2 + .05 ln .2) = .6238 + .1609 = .7848.
    """
    one = torch.tensor([[1]]), torch.tensor([[False]])
    assert token_nll(torch.zeros(1, 1, 4), *one, smoothing=0.1).sum.item() == pytest.approx(math.log(4))
    logits = torch.tensor([[[0.1, 0.5, 0.2, 0.2]]]).log()
    assert token_nll(logits, *one, smoothing=0.1).sum.item() == pytest.approx(0.7848, abs=1e-4)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1]))
@settings(max_examples=20, deadline=None)
def test_the_fused_loss_is_the_plain_one(seed: int, smoothing: float) -> None:
    """`projected_nll` gives `token_nll` of the logits, and the same gradients."""
    random = torch.Generator().manual_seed(seed)
    states, weight, bias = (torch.randn(*size, generator=random).requires_grad_() for size in ((5, 3), (9, 3), (9,)))
    target = torch.randint(1, 9, (5,), generator=random)
    plain = token_nll(states @ weight.t() + bias, target, torch.zeros(5, dtype=torch.bool), smoothing=smoothing)
    expected = torch.autograd.grad(3 * plain.sum, (states, weight, bias))
    fused, nll = projected_nll(states, weight, bias, target, smoothing=smoothing)
    torch.testing.assert_close(fused, plain.sum)
    torch.testing.assert_close(nll.sum(), token_nll(states @ weight.t() + bias, target, target < 0).sum)
    for found, wanted in zip(torch.autograd.grad(3 * fused, (states, weight, bias)), expected, strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-4)


def test_emotion_loss_leaves_out_unlabelled_rows() -> None:
    logits = torch.tensor([[math.log(3), 0.0, -1e9], [0.0, 5.0, 0.0]])
    assert emotion_nll(logits, torch.tensor([0, -1])).mean.item() == pytest.approx(math.log(4 / 3))
    assert emotion_hits(logits, torch.tensor([1, 1]), top=1).mean.item() == 0.5
    assert emotion_hits(logits, torch.tensor([1, 1]), top=2).mean.item() == 1.0
    assert emotion_nll(logits, torch.tensor([-1, -1])).mean.item() == 0.0


def test_terms_add_as_sums() -> None:
    """Means of 2 and 5 over 3 and 1 tokens make 11 / 4, not 3.5."""
    a, b = Term(torch.tensor(6.0), torch.tensor(3)), Term(torch.tensor(5.0), torch.tensor(1))
    assert (a + b).mean.item() == 11 / 4

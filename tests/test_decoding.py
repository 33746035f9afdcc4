"""Decoding by hand on a generator whose next-token probabilities stand in a table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from harken import config as configs
from harken.decoding import DecodingConfig, decode
from harken.decoding.constraints import repeats, top
from harken.decoding.search import pick
from harken.errors import HarkenError
from harken.models.contract import Generator, State
from harken.models.losses import Term
from harken.text.batches import Batch, Encoded, collate
from harken.text.vocabulary import CLS, EOS, SPECIALS, USR, Words

WORDS = Words(["a", "b", "c"])
A, B, C = (WORDS.index[word] for word in "abc")
Rows = Mapping[tuple[int, ...], Mapping[int, float]]


class Table(Generator):
    """P(next | words so far) as written; a history that is not written ends."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(None, WORDS)
        self.rows = rows

    def encode(self, batch: Batch, *, oracle: bool = False) -> State:
        return State(batch.context.float(), batch.pad, caches=[], emotion_logits=None)

    def step(self, tokens: Tensor, state: State) -> Tensor:
        if state.length == 0:
            self.said = tokens.unsqueeze(1)
            state.caches = [self.said[:, 1:]]  # type: ignore[list-item]
        else:
            state.caches = [torch.cat([state.caches[0], tokens.unsqueeze(1)], dim=1)]  # type: ignore[list-item]
        state.length += 1
        logits = torch.full((len(tokens), len(WORDS)), -1e4)
        for row, said in enumerate(state.caches[0].tolist()):  # type: ignore[attr-defined]
            for token, p in self.rows.get(tuple(said), {EOS: 1.0}).items():
                logits[row, token] = math.log(p)
        return logits

    def losses(self, batch: Batch) -> dict[str, Term]:
        raise NotImplementedError


def contexts(*rows: Sequence[int]) -> Batch:
    return collate([Encoded([CLS, *row], [CLS] + [USR] * len(row), [EOS], [], -1) for row in rows])


def words(hypotheses: Sequence[object]) -> list[str]:
    return [WORDS.decode(h.tokens) for h in hypotheses]  # type: ignore[attr-defined]


GARDEN: Rows = {
    (): {A: 0.6, B: 0.4},
    (A,): {A: 0.4, B: 0.35, EOS: 0.25},
    (B,): {C: 0.9, EOS: 0.1},
    (B, C): {EOS: 1.0},
    (A, A): {EOS: 1.0},
    (A, B): {EOS: 1.0},
}
"""Greedy takes a (0.6) and ends at a a (0.24); the likeliest reply is b c (0.36)."""


def test_greedy_takes_the_best_step() -> None:
    [[reply]] = decode(Table(GARDEN), contexts([A]), DecodingConfig(length_norm=0))
    assert reply.tokens == [A, A]
    assert reply.score == pytest.approx(math.log(0.6 * 0.4), abs=1e-4)


def test_a_beam_of_two_finds_the_likeliest_reply() -> None:
    [found] = decode(Table(GARDEN), contexts([A]), DecodingConfig(beam=2, length_norm=0))
    assert words(found)[0] == "b c"
    assert found[0].score == pytest.approx(math.log(0.36), abs=1e-4)


def test_length_norm_divides_by_the_length_with_its_end() -> None:
    """b c EOS: ln 0.36 / 3 = -0.3406; a EOS: ln 0.15 / 2 = -0.949; a a EOS: ln 0.24 / 3 = -0.476."""
    [found] = decode(Table(GARDEN), contexts([A]), DecodingConfig(beam=9, length_norm=1))
    scores = dict(zip(words(found), (h.score for h in found), strict=True))
    assert scores["b c"] == pytest.approx(math.log(0.36) / 3, abs=1e-4)
    assert scores["a"] == pytest.approx(math.log(0.15) / 2, abs=1e-4)


def test_minimum_length_and_maximum_length() -> None:
    short: Rows = {(): {EOS: 0.9, A: 0.1}, (A,): {EOS: 0.9, B: 0.1}, (A, B): {EOS: 1.0}}
    assert decode(Table(short), contexts([A]), DecodingConfig(min_length=0))[0][0].tokens == []
    assert decode(Table(short), contexts([A]), DecodingConfig(min_length=2))[0][0].tokens == [A, B]
    assert decode(Table(GARDEN), contexts([A]), DecodingConfig(max_length=1))[0][0].tokens == [A]
    assert words(decode(Table(GARDEN), contexts([A]), DecodingConfig(beam=2, max_length=1))[0]) == ["a", "b"]


LOOP: Rows = {h: {A: 0.6, B: 0.3, EOS: 0.1} for n in range(6) for h in itertools.product((A, B), repeat=n)}


def test_blocked_bigrams_by_hand() -> None:
    """a a, then a a a would repeat 'a a', so b; then a, then 'a a' and 'a b' are used, so the end."""
    [[reply]] = decode(Table(LOOP), contexts([A]), DecodingConfig(no_repeat=2, max_length=6))
    assert WORDS.decode(reply.tokens) == "a a b a"


def test_repeats_lists_each_forbidden_token() -> None:
    rows, tokens = repeats(torch.tensor([[A, B, A, C, A], [A, B, C, A, C]]), 2)
    assert set(zip(rows.tolist(), tokens.tolist(), strict=True)) == {(0, B), (0, C), (1, A)}


@pytest.mark.parametrize("length_norm", [0.0, 0.7, 1.0])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_a_full_width_beam_is_exhaustive_search(length_norm: float, seed: int) -> None:
    """Three words, at most three tokens: 27 + 9 + 3 + … replies, all ranked as a search of every one ranks them."""
    random = torch.Generator().manual_seed(seed)
    rows: dict[tuple[int, ...], dict[int, float]] = {}
    for n in range(3):
        for said in itertools.product((A, B, C), repeat=n):
            p = torch.rand(4, generator=random).add(0.05)
            rows[said] = dict(zip((A, B, C, EOS), (p / p.sum()).tolist(), strict=True))
    every: dict[tuple[int, ...], float] = {}
    for n in range(1, 4):
        for said in itertools.product((A, B, C), repeat=n):
            p_said = math.prod(rows[said[:i]][said[i]] for i in range(n))
            if n == 3:
                every[said] = math.log(p_said) / 3**length_norm  # cut off at the third token
            else:
                every[said] = math.log(p_said * rows[said][EOS]) / (n + 1) ** length_norm
    config = DecodingConfig(beam=100, max_length=3, length_norm=length_norm)
    [found] = decode(Table(rows), contexts([A]), config)
    best = max(every, key=lambda said: every[said])
    assert tuple(found[0].tokens) == best
    for hypothesis in found:
        assert hypothesis.score == pytest.approx(every[tuple(hypothesis.tokens)], abs=1e-3)


def test_diverse_beam_by_hand() -> None:
    """Two groups of one. The first takes a (0.6). The second compares ln 0.6 - λ with ln 0.4: b wins from λ = 0.405."""
    plain = decode(Table(GARDEN), contexts([A]), DecodingConfig(beam=2, groups=2, diversity=0.0, length_norm=0))[0]
    near = decode(Table(GARDEN), contexts([A]), DecodingConfig(beam=2, groups=2, diversity=0.40, length_norm=0))[0]
    far = decode(Table(GARDEN), contexts([A]), DecodingConfig(beam=2, groups=2, diversity=0.41, length_norm=0))[0]
    assert words(plain) == ["a a", "a a"]
    # Both groups took a; at the second step a a (0.24) is taken, so the second compares ln 0.4 - 0.40 with ln 0.35.
    assert sorted(words(near)) == ["a a", "a b"]
    assert words(far) == ["b c", "a a"]
    assert far[0].score == pytest.approx(math.log(0.36), abs=1e-4), "a kept score is the plain log-probability"


class Informed(Table):
    """A table that also knows how likely a whole reply is when nothing was heard."""

    alone: ClassVar = {
        (B, C, EOS): 0.5,
        (A, A, EOS): 0.01,
        (A, B, EOS): 0.2,
        (A, EOS): 0.2,
        (B, EOS): 0.09,
        (A, A): 0.3,
    }

    def nll(self, batch: Batch, state: State) -> Tensor:
        assert batch.context.tolist() == [[CLS]] * len(batch)
        said = [tuple(row[~pad].tolist()) for row, pad in zip(batch.target, batch.target_pad, strict=True)]
        return torch.tensor([[-math.log(self.alone.get(tokens, 1.0))] for tokens in said])


@pytest.mark.parametrize("length_norm", [0.0, 1.0])
def test_mutual_information_by_hand(length_norm: float) -> None:
    """ln p(T | S) - ln p(T) / 2: b c has ln (0.36 / √0.5) = -0.675, a a has ln (0.24 / √0.01) = 0.875, and a a wins."""
    config = DecodingConfig(beam=9, length_norm=length_norm, mutual=0.5)
    for found in decode(Informed(GARDEN), contexts([A], [B, C]), config):
        assert found == sorted(found, key=lambda one: -one.score)
        scores = dict(zip(words(found), (one.score for one in found), strict=True))
        assert words(found)[0] == "a a"
        assert scores["a a"] == pytest.approx(0.8755 / 3**length_norm, abs=1e-4)
        assert scores["b c"] == pytest.approx(-0.6751 / 3**length_norm, abs=1e-4)


def test_a_reply_cut_off_has_no_end_to_pay_for() -> None:
    """a a, cut off: ln 0.7 - ln 0.3 / 2 = 0.245."""
    rows: Rows = {(): {A: 1.0}, (A,): {A: 0.7, B: 0.3}}
    [found] = decode(Informed(rows), contexts([A]), DecodingConfig(beam=2, max_length=2, length_norm=0, mutual=0.5))
    scores = dict(zip(words(found), (one.score for one in found), strict=True))
    assert scores["a a"] == pytest.approx(0.2453, abs=1e-4)


def test_drawing_by_hand() -> None:
    """P = .5, .3, .2: the quantiles .49, .51, .81 are a, b, c; top 2 leaves .625, .375; a nucleus of .6 needs two."""
    logits = torch.tensor([[0.5, 0.3, 0.2]]).log().expand(3, 3)
    u = torch.tensor([0.49, 0.51, 0.81])
    assert pick(logits, u, DecodingConfig(sample=True)).tolist() == [0, 1, 2]
    u = torch.tensor([0.62, 0.63, 0.99])
    assert pick(logits, u, DecodingConfig(sample=True, top_k=2)).tolist() == [0, 1, 1]
    assert pick(logits, u, DecodingConfig(sample=True, top_p=0.6)).tolist() == [0, 1, 1]
    assert pick(logits, u, DecodingConfig(sample=True, top_p=0.5)).tolist() == [0, 0, 0]
    # At temperature 0.5 the probabilities are squared: 25 : 9 : 4.
    assert pick(logits, torch.tensor([0.65, 0.67, 0.9]), DecodingConfig(sample=True, temperature=0.5)).tolist() == [
        0,
        1,
        2,
    ]


def test_samples_follow_the_distribution_and_the_context_alone() -> None:
    """2,000 contexts draw a about 1,200 times (± 4 deviations of 22); each draws the same alone and in company."""
    many = contexts(*([i % 3 + A, i // 3] for i in range(2_000)))
    config = DecodingConfig(sample=True)
    together = [h[0].tokens for h in decode(Table(GARDEN), many, config)]
    assert abs(sum(tokens[0] == A for tokens in together) - 1_200) < 88
    alone = decode(Table(GARDEN), contexts([77 % 3 + A, 77 // 3]), config)[0][0].tokens
    assert alone == together[77]
    other = [h[0].tokens for h in decode(Table(GARDEN), many, DecodingConfig(sample=True, seed=14))]
    assert other != together


@given(st.integers(1, 12), st.integers(0, 1_000))
@settings(max_examples=25, deadline=None)
def test_top_by_blocks_is_topk(k: int, seed: int) -> None:
    values = torch.randn(3, 9_000, generator=torch.Generator().manual_seed(seed))
    best, places = top(values, k)
    assert torch.equal(best, values.topk(k).values)
    assert torch.equal(values.gather(1, places), best)


def test_specials_are_never_said() -> None:
    rows: Rows = {(): {USR: 0.9, A: 0.1}}
    for config in (DecodingConfig(), DecodingConfig(beam=3), DecodingConfig(sample=True)):
        [found] = decode(Table(rows), contexts([A]), config)
        assert all(token >= len(SPECIALS) for h in found for token in h.tokens)


def test_all_mistakes_of_a_config_at_once() -> None:
    with pytest.raises(HarkenError) as caught:
        configs.build(DecodingConfig, {"beam": 5, "groups": 2, "temperature": 0, "top_k": 3, "bean": 1, "mutual": 2})
    message = str(caught.value)
    assert "multiple of groups" in message
    assert "temperature" in message
    assert "sampling" in message
    assert "mutual = 2.0 must lie in 0..1" in message
    assert "'bean'; did you mean 'beam'?" in message

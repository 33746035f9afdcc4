"""LEMPEx: its equations by hand, its laws, and T5 when nothing of it is left."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from harken.dialogue import Levels
from harken.errors import HarkenError
from harken.models.lempex import Lempex, LempexConfig, attended_exemplar, level_nll, mean_exemplar, sentiment_error
from harken.models.losses import perplexity
from harken.models.t5 import T5, T5Config
from harken.text.batches import NO_LEVEL, Batch, Encoded, collate
from harken.text.vocabulary import CLS, EOS, PAD, USR, TextConfig, Words
from harken.training.config import TrainingConfig, load_config
from harken.training.loop import objective

CONFIGS = Path(__file__).parents[1] / "configs"
SMALL: dict[str, Any] = {
    "d_model": 16, "n_heads": 2, "depth": 12, "d_inner": 24, "encoder_layers": 1, "decoder_layers": 1
}  # fmt: skip
WORDS = Words("oh no my dog died so sorry well done good luck".split())
LN = math.log


def row(context: str, response: str, exemplars: tuple[str, ...] = (), levels: Levels | None = None) -> Encoded:
    said = WORDS.encode(context)
    return Encoded(
        context=[CLS, *said],
        roles=[CLS, *[USR] * len(said)],
        target=[*WORDS.encode(response), EOS],
        exemplars=[WORDS.encode(text) for text in exemplars],
        relevance=[0.9 - 0.2 * i for i in range(len(exemplars))],
        levels=levels,
    )


def rows() -> list[Encoded]:
    return [
        row("my dog died", "oh no", ("so sorry", "oh no no no", "sorry"), Levels(2, 0, 1, -0.5)),
        row("done", "well done my dog", ("good luck",)),
        row("my good dog", "good", (), Levels(0, 1, 0, 0.5)),
    ]


def model(seed: int = 0, **changes: Any) -> Lempex:
    torch.manual_seed(seed)
    made = Lempex(LempexConfig(**SMALL | {"dropout": 0.0} | changes), WORDS)
    if made.config.injection == "attention" and made.config.exemplars:
        with torch.no_grad():  # away from its start, which is the mean
            made.query.weight.normal_()
            made.relevance.fill_(2.0)
    return made.eval()


def memory(made: Lempex, batch: Batch) -> Tensor:
    with torch.inference_mode():
        return made.encode(batch).memory


def test_the_mean_of_exemplars_by_hand() -> None:
    """Of (2, 0) and (4, 6) with a third that is none: (3, 3). Of none: 0."""
    psi = torch.tensor([[[2.0, 0.0], [4.0, 6.0], [9.0, 9.0]], [[7.0, 7.0]] * 3])
    real = torch.tensor([[True, True, False], [False] * 3])
    assert mean_exemplar(psi, real).tolist() == [[3.0, 3.0], [0.0, 0.0]]


def test_attention_over_exemplars_by_hand() -> None:
    """Width 4, query (2, 0, 0, 0): scores ψ_1. With ψ_1 = ln 1, ln 2 and bonuses 0, ln 2.5, weights are 1/6 and 5/6."""
    psi = torch.zeros(1, 3, 4)
    psi[0, :, 0] = torch.tensor([LN(1), LN(2), 50.0])
    psi[0, :, 1] = torch.tensor([6.0, 12.0, 99.0])
    real = torch.tensor([[True, True, False]])
    query, bonus = torch.tensor([[2.0, 0.0, 0.0, 0.0]]), torch.tensor([[0.0, LN(2.5), 0.0]])
    found = attended_exemplar(psi, real, query, bonus)
    assert found[0, 1].item() == pytest.approx(1 / 6 * 6 + 5 / 6 * 12)
    assert attended_exemplar(psi, torch.zeros_like(real), query, bonus).tolist() == [[0.0] * 4]


def test_the_losses_of_levels_by_hand() -> None:
    """Logits ln 1, ln 2, ln 5 give level 2 a probability of 5/8; of two classes, level 2 is `any`: 2/3."""
    logits = torch.tensor([[LN(1), LN(2), LN(5)]] * 3)
    term = level_nll(logits, torch.tensor([2, NO_LEVEL, 0]))
    assert term.sum.item() == pytest.approx(LN(8 / 5) + LN(8))
    assert int(term.count) == 2
    merged = level_nll(logits[:, :2], torch.tensor([2, 1, 0]))
    assert merged.sum.item() == pytest.approx(2 * LN(3 / 2) + LN(3))


def test_the_loss_of_sentiment_by_hand() -> None:
    """tanh(ln 2) = (2 - 1/2) / (2 + 1/2) = 0.6, which is 1.1 from -0.5."""
    term = sentiment_error(torch.tensor([[LN(2)], [3.0]]), torch.tensor([-0.5, math.nan]))
    assert term.sum.item() == pytest.approx(1.21)
    assert int(term.count) == 1


def test_fusion_by_hand() -> None:
    """(6) with FC = [1 | 1] and no bias adds χ to every position; χ is the mean of the means of (4)."""
    made, batch = model(), collate(rows())
    eye = torch.eye(16)
    with torch.no_grad():
        made.fusion.weight.copy_(torch.cat([eye, eye], dim=1))
        made.fusion.bias.zero_()
    with torch.inference_mode():
        plain = T5.encode(made, batch).memory
        alone = []
        for exemplar in rows()[0].exemplars:
            states = made.exemplar_encoder(inputs_embeds=made.embedding(torch.tensor([exemplar]))).last_hidden_state
            alone.append(states[0].mean(0))
        chi = torch.stack(alone).mean(0)
    found = memory(made, batch)
    torch.testing.assert_close(found[0], plain[0] + chi, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found[2], plain[2])  # no exemplars: χ = 0


@pytest.mark.parametrize("injection", ["mean", "attention"])
@settings(max_examples=6, deadline=None)
@given(order=st.permutations(range(3)))
def test_the_order_of_exemplars_does_not_matter(injection: str, order: list[int]) -> None:
    made, batch = model(injection=injection), collate(rows())
    moved = dataclasses.replace(
        batch,
        exemplars=batch.exemplars[:, order],
        exemplar_pad=batch.exemplar_pad[:, order],
        relevance=batch.relevance[:, order],
    )
    torch.testing.assert_close(memory(made, moved), memory(made, batch), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("injection", ["mean", "attention"])
def test_a_row_hears_its_own_exemplars_only(injection: str) -> None:
    """Neither those of others nor padding change a row; its own do."""
    made, told = model(injection=injection), rows()
    together = memory(made, collate(told))
    for i, one in enumerate(told):
        torch.testing.assert_close(
            memory(made, collate([one]))[0], together[i, : len(one.context)], atol=1e-5, rtol=1e-5
        )
    other = [dataclasses.replace(told[0], exemplars=[WORDS.encode("good luck")], relevance=[0.9]), *told[1:]]
    changed = memory(made, collate(other))
    assert not torch.allclose(changed[0], together[0], atol=1e-3)
    torch.testing.assert_close(changed[1:], together[1:], atol=1e-5, rtol=1e-5)


def test_groups_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made, batch = model(), collate(rows())
    whole = memory(made, batch)
    monkeypatch.setattr("harken.models.lempex.GROUP", 1)
    torch.testing.assert_close(memory(made, batch), whole, atol=1e-5, rtol=1e-5)


def test_attention_starts_as_the_mean_and_hears_relevance() -> None:
    torch.manual_seed(0)
    made = Lempex(LempexConfig(**SMALL, injection="attention"), WORDS).eval()
    batch = collate(rows())
    torch.testing.assert_close(memory(made, batch), memory(model(), batch), atol=1e-5, rtol=1e-5)
    with torch.no_grad():
        made.relevance.fill_(1_000.0)  # now only the best is heard
    best = dataclasses.replace(batch, exemplar_pad=batch.exemplar_pad.clone())
    best.exemplar_pad[:, 1:] = True
    torch.testing.assert_close(memory(made, batch), memory(model(), best), atol=1e-5, rtol=1e-5)


def trained(made: T5, weights: dict[str, float], steps: int = 3) -> list[float]:
    """A few steps as the loop makes them; gives the losses of the words."""
    config = TrainingConfig(weights=weights)
    adam = torch.optim.Adam(made.parameters(), lr=0.01, fused=True)
    batch, seen = collate(rows()), []
    made.train()
    for step in range(steps):
        torch.manual_seed(step)
        terms = made.losses(batch)
        adam.zero_grad(set_to_none=True)
        objective(terms, terms, config).backward()  # type: ignore[no-untyped-call]
        adam.step()
        seen.append(terms["response"].sum.item())
    return seen


SILENT = {"emotional": 0.0, "interpretation": 0.0, "exploration": 0.0, "sentiment": 0.0}


@pytest.mark.parametrize("empathy", [False, True], ids=["no losses", "losses that weigh nothing"])
def test_without_its_parts_it_is_t5_bit_for_bit(empathy: bool) -> None:
    torch.manual_seed(5)
    t5 = T5(T5Config(**SMALL, dropout=0.3), WORDS)
    torch.manual_seed(5)
    lempex = Lempex(LempexConfig(**SMALL, dropout=0.3, exemplars=False, empathy=empathy), WORDS)
    assert trained(lempex, SILENT) == trained(t5, {})
    own = lempex.state_dict()
    for name, weight in t5.state_dict().items():
        assert torch.equal(own[name], weight), name
    assert empathy == any(name.startswith("heads") for name in own)


def test_empathy_losses_reach_the_decoder_and_known_rows_only() -> None:
    torch.manual_seed(5)
    t5 = T5(T5Config(**SMALL, dropout=0.0), WORDS)
    torch.manual_seed(5)
    lempex = Lempex(LempexConfig(**SMALL, dropout=0.0, exemplars=False), WORDS)
    terms = lempex.losses(collate(rows()))
    assert {name: int(terms[name].count) for name in SILENT} == dict.fromkeys(SILENT, 2)
    assert trained(lempex, {})[1:] != trained(t5, {})[1:]
    nobody = lempex.losses(collate(rows()[1:2]))
    assert nobody["emotional"].sum.item() == nobody["sentiment"].sum.item() == 0.0


@pytest.mark.parametrize("heads", ["trained", "frozen"])
def test_heads_are_trained_or_frozen(heads: str) -> None:
    made = model(exemplars=False, heads=heads)
    before = {name: weight.clone() for name, weight in made.heads.state_dict().items()}
    words = made.embedding.weight[WORDS.index["dog"]].clone()
    trained(made, {}, steps=1)
    stayed = [torch.equal(weight, before[name]) for name, weight in made.heads.state_dict().items()]
    assert all(stayed) if heads == "frozen" else not any(stayed)
    assert not torch.equal(made.embedding.weight[WORDS.index["dog"]], words)


def test_the_release_has_two_levels() -> None:
    assert model().heads["emotional"].weight.shape == (3, 16)
    assert model(variant="release").heads["emotional"].weight.shape == (2, 16)
    assert int(model(variant="release").losses(collate(rows()))["emotional"].count) == 2


def test_an_exemplar_tells_what_the_context_cannot() -> None:
    """One context with two answers: a coin toss for T5, known from the exemplar here; and the first state knows the level."""
    told = [
        row("my dog", "well done", ("good luck",), Levels(0, 2, 0, 0.8)),
        row("my dog", "so sorry", ("oh no",), Levels(2, 0, 0, -0.8)),
    ]
    torch.manual_seed(1)
    made = Lempex(LempexConfig(**SMALL, dropout=0.0), WORDS)
    adam, batch = torch.optim.Adam(made.parameters(), lr=0.01), collate(told)
    for _ in range(80):
        terms = made.losses(batch)
        adam.zero_grad()
        objective(terms, terms, TrainingConfig()).backward()  # type: ignore[no-untyped-call]
        adam.step()
    assert perplexity(terms["nll"]) < 1.1
    assert terms["emotional"].mean.item() < 0.1
    assert terms["sentiment"].mean.item() < 0.05
    swapped = dataclasses.replace(batch, exemplars=batch.exemplars.flip(0), exemplar_pad=batch.exemplar_pad.flip(0))
    assert perplexity(made.losses(swapped)["nll"]) > 3


def test_what_training_would_miss_is_said() -> None:
    with pytest.raises(HarkenError) as said:
        load_config(CONFIGS / "lempex.yaml", ["recipe=null"])
    assert "text.exemplars.files, which harken retrieve INDEX --split SPLIT writes" in str(said.value)
    assert "text.levels, label files which harken label --with empathy" in str(said.value)
    bare = load_config(CONFIGS / "lempex.yaml", ["recipe=null", "network.exemplars=false", "network.empathy=false"])
    assert not list(bare.network.wants(TextConfig()))
    assert bare.training.weights == {"response": 1.0} | dict.fromkeys(SILENT, 0.1)


def test_padding_tokens_are_no_exemplar() -> None:
    made = model()
    psi, real = made.exemplar_vectors(collate(rows()))
    assert real.tolist() == [[True] * 3, [True, False, False], [False] * 3]
    assert torch.equal(psi[2], torch.zeros(3, 16))
    assert collate(rows()).exemplars[2].eq(PAD).all()

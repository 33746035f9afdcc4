"""MoEL: its parts by hand, and thirty-two listeners that are one computation."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from harken.config import build
from harken.errors import HarkenError
from harken.labels import EMOTIONS
from harken.models.contract import shifted
from harken.models.layers import Shape, attendable, xavier
from harken.models.moel import Moel, MoelConfig, gold_only, listener_weights, mixture, oracle_chance
from harken.models.side_by_side import Seats, SideBySide
from harken.models.stacks import DecoderLayer
from harken.text.batches import NO_EMOTION, Batch, Encoded, collate
from harken.text.vocabulary import CLS, EOS, USR, Words
from harken.training.config import load_config

WORDS = Words([f"w{i}" for i in range(20)])
CONVENTIONAL = Shape(d_model=12, n_heads=3, depth=None, feed_forward="gelu", d_inner=16)


def batch_of(emotions: tuple[int, ...] = (3, 3, 27)) -> Batch:
    random = torch.Generator().manual_seed(1)

    def words(n: int) -> list[int]:
        return torch.randint(7, len(WORDS), (n,), generator=random).tolist()

    return collate(
        [
            Encoded([CLS, *words(4 + i)], [CLS] + [USR] * (4 + i), [*words(5 - i), EOS], [], emotion)
            for i, emotion in enumerate(emotions)
        ]
    )


def model_of(**fields: int | str | None) -> Moel:
    torch.manual_seed(5)
    model = Moel(MoelConfig(d_model=16, **fields), WORDS)  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def layers_of(shape: Shape, n: int) -> list[DecoderLayer]:
    torch.manual_seed(7)
    layers = [DecoderLayer(shape) for _ in range(n)]
    for layer in layers:
        xavier(layer)
        for part in (layer.attention_norm, layer.cross_norm, layer.feed_forward_norm):
            torch.nn.init.normal_(part.weight, 1.0, 0.3)
            torch.nn.init.normal_(part.bias, 0.0, 0.3)
    return layers


def test_listener_weights_by_hand() -> None:
    """Logits (ln 1, ln 2, ln 5) give weights 1/8, 2/8, 5/8; of the two likeliest alone 5/7 and 2/7."""
    logits = torch.tensor([[1.0, 2.0, 5.0]]).log()
    weights, chosen = listener_weights(logits)
    torch.testing.assert_close(weights, torch.tensor([[5 / 8, 2 / 8, 1 / 8]]))
    assert chosen.tolist() == [[2, 1, 0]]
    weights, chosen = listener_weights(logits, 2)
    torch.testing.assert_close(weights, torch.tensor([[5 / 7, 2 / 7]]))
    assert chosen.tolist() == [[2, 1]]


@given(st.lists(st.floats(-30, 30), min_size=32, max_size=32), st.integers(1, 32))
def test_weights_sum_to_one(logits: list[float], top_k: int) -> None:
    weights, chosen = listener_weights(torch.tensor([logits]), top_k)
    assert weights.sum().item() == pytest.approx(1.0, abs=1e-5)
    assert len(set(chosen[0].tolist())) == top_k


def test_mixture_by_hand() -> None:
    """V_0 = (1, 1), V = (4, 0) and (0, 8) with weights 1/4 and 3/4: V_M = (1 + 1, 1 + 6)."""
    heard = torch.tensor([[[[4.0, 0.0]], [[0.0, 8.0]]]])  # (1, 2, 1, 2)
    mixed = mixture(torch.ones(1, 1, 2), torch.tensor([[0.25, 0.75]]), heard)
    torch.testing.assert_close(mixed, torch.tensor([[[2.0, 7.0]]]))


def test_the_oracle_fades() -> None:
    assert oracle_chance(0, 10_000) == 1.0
    assert oracle_chance(10_000, 10_000) == pytest.approx(1 / math.e)
    assert oracle_chance(100_000, 10_000) < 1e-4
    assert oracle_chance(0, 0) == 0.0


def test_the_gold_emotion_chooses_where_it_is_known() -> None:
    weights, chosen = torch.tensor([[0.7, 0.3], [0.6, 0.4]]), torch.tensor([[4, 9], [2, 8]])
    some = gold_only(weights, chosen, torch.tensor([30, NO_EMOTION]))
    torch.testing.assert_close(some[0], torch.tensor([[1.0, 0.0], [0.6, 0.4]]))
    assert some[1][:, 0].tolist() == [30, 2]
    every = gold_only(weights, chosen, torch.tensor([30, 4]))
    assert (every[0].tolist(), every[1].tolist()) == ([[1.0], [1.0]], [[30], [4]])


def test_seats_by_hand() -> None:
    """Two rows choose layers 5, 0 and 5, 2: layers 0, 2, 5 are in use with two seats each, 5 has both taken."""
    seats = Seats(torch.tensor([[5, 0], [5, 2]]))
    assert seats.used.tolist() == [0, 2, 5]
    assert seats.seat.tolist() == [4, 0, 5, 2]
    assert seats.pair.tolist() == [1, 0, 3, 0, 0, 2]  # an empty seat repeats pair 0, and nobody reads it


@pytest.mark.parametrize("shape", [Shape(d_model=12), CONVENTIONAL], ids=["conv", "gelu"])
@pytest.mark.parametrize("k", [1, 5, 32])
def test_listeners_equal_a_loop_over_single_layers(shape: Shape, k: int) -> None:
    """Values, and gradients of the input, the memory and a weight; whole responses and step by step."""
    layers = layers_of(shape, 32)
    together = SideBySide(layers)
    x, memory = torch.randn(3, 4, 12, requires_grad=True), torch.randn(3, 6, 12, requires_grad=True)
    mask = attendable(torch.arange(6) >= torch.tensor([[6], [3], [1]]))
    chosen = torch.stack([torch.randperm(32)[:k] for _ in range(3)])
    cache = together.start(memory, chosen)
    found = together(x, cache, chosen, mask)  # (3, K, 4, 12)
    rows = [
        [layers[i](x[b : b + 1], layers[i].start(memory[b : b + 1]), mask[b : b + 1])[0] for i in chosen[b].tolist()]
        for b in range(3)
    ]
    expected = torch.stack([torch.stack(row) for row in rows])
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)

    pull = torch.randn_like(found)
    first = int(chosen[0, 0])
    ours = torch.autograd.grad((found * pull).sum(), (x, memory, together.inner.weight), retain_graph=True)
    theirs = torch.autograd.grad((expected * pull).sum(), (x, memory, layers[first].feed_forward.inner.weight))
    for one, other in zip((ours[0], ours[1], ours[2][first]), theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)

    steps = [together.step(x[:, t : t + 1], cache, chosen, mask) for t in range(4)]
    torch.testing.assert_close(torch.cat(steps, dim=2), found, atol=1e-5, rtol=1e-5)


def test_all_32_are_every_listener() -> None:
    batch = batch_of()
    every, top = model_of(top_k=None), model_of(top_k=32)
    with torch.inference_mode():
        torch.testing.assert_close(every.nll(batch, every.encode(batch)), top.nll(batch, top.encode(batch)))
        fewer = model_of(top_k=5)
        assert not torch.allclose(every.nll(batch, every.encode(batch)), fewer.nll(batch, fewer.encode(batch)))


def test_one_hot_weights_give_that_listener_and_the_shared_one() -> None:
    """V_M = V_0 + V_i, and nothing of the other 31: the oracle's whole computation with single layers."""
    model, batch = model_of(), batch_of((12, 12, 12))
    layers = layers_of(model.config, 32)
    model.listeners = SideBySide(layers)
    with torch.inference_mode():
        state = model.encode(batch, oracle=True)
        memory = model.encoder(model.context_embeddings(batch), batch.pad)
        x = model.decoder.enter(model.embedding(shifted(batch.target)))
        said = [layer(x, layer.start(memory), state.mask) for layer in (model.shared, layers[12])]
        expected = model.decoder.through(said[0] + said[1], model.decoder.start(memory), state.mask)
        torch.testing.assert_close(model.hidden(batch, state), expected, atol=1e-5, rtol=1e-5)


def test_listeners_nobody_hears_are_not_computed() -> None:
    """Their weights may be anything, even no numbers at all."""
    model, batch = model_of(top_k=2), batch_of()
    with torch.no_grad():
        state = model.encode(batch)
        before = model.nll(batch, state)
        silent = sorted(set(range(32)) - set(state.chosen.flatten().tolist()))
        assert len(silent) >= 26
        for parameter in model.listeners.parameters():
            parameter[silent] = math.nan
        assert torch.equal(model.nll(batch, model.encode(batch)), before)


def test_the_keys_are_the_classifier() -> None:
    model, batch = model_of(), batch_of()
    with torch.no_grad():
        state = model.encode(batch)
        assert model.emotion_vectors().shape == (len(EMOTIONS), 16)
        torch.testing.assert_close(state.emotion_logits, state.memory[:, 0] @ model.emotion_vectors().t())
        model.keys.weight[:] = 0.0
        assert model.losses(batch)["emotion"].mean.item() == pytest.approx(math.log(32))


def nll(model: Moel, batch: Batch) -> Tensor:
    return model.losses(batch)["nll"].sum


def test_training_follows_the_oracle_while_it_lasts() -> None:
    """At step 0 the gold listener alone is heard, after very many the likeliest, in eval never the gold one."""
    model, batch = model_of(), batch_of()
    with torch.no_grad():
        oracle, honest = (model.nll(batch, model.encode(batch, oracle=gold)).sum() for gold in (True, False))
    assert not torch.isclose(oracle, honest)
    torch.testing.assert_close(nll(model, batch), honest)
    model.train()
    torch.testing.assert_close(nll(model, batch), oracle)
    model.trained_steps = 10_000_000
    torch.testing.assert_close(nll(model, batch), honest)
    model.trained_steps = 10_000
    torch.manual_seed(0)
    gold = sum(bool(torch.isclose(nll(model, batch), oracle)) for _ in range(100))
    assert 20 < gold < 55  # 100 / e is 37


def test_only_heard_listeners_learn() -> None:
    model, batch = model_of(), batch_of((3, 3, 27))
    model.train()
    terms = model.losses(batch)
    torch.autograd.backward(terms["response"].sum + terms["emotion"].mean)
    moved = model.listeners.inner.weight.grad
    assert moved is not None
    assert moved.flatten(1).any(1).nonzero().squeeze(1).tolist() == [3, 27]
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_size_is_near_the_published_one() -> None:
    """Published: 23.10M. Ours with 23,700 words: 14.24M of word tables, 33 listeners and a meta listener of 188,150.

    A layer: two attentions of 4 · 300 · 40, convolutions 3 · 300 · 50 + 50 and 3 · 50 · 300 + 300, three norms of 600.
    """
    words = Words([str(i) for i in range(23_700 - 7)])
    layer = 2 * 4 * 300 * 40 + 45_050 + 45_300 + 3 * 600
    encoder = 4 * 300 * 40 + 45_050 + 45_300 + 2 * 600
    expected = 23_700 * 601 + 34 * layer + encoder + 2 * 300 * 300 + 2 * 600 + 32 * 300
    found = sum(parameter.numel() for parameter in Moel(MoelConfig(), words).parameters())
    assert found == expected == 20_971_150
    assert found == pytest.approx(23.10e6, rel=0.1)


def test_a_config_says_all_that_is_wrong() -> None:
    with pytest.raises(HarkenError) as caught:
        build(MoelConfig, {"top_k": 40, "oracle_steps": -1})
    assert "top_k = 40 must lie in 1..32 (one listener per emotion), or be null to use every listener" in str(
        caught.value
    )
    assert "oracle_steps = -1" in str(caught.value)


def test_the_shipped_config_is_the_releases() -> None:
    config = load_config(Path(__file__).parents[1] / "configs" / "moel.yaml")
    assert config.network == MoelConfig()

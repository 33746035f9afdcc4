"""MIME: each equation by hand, the ablations, and where paper and release part."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from harken.config import build
from harken.errors import HarkenError
from harken.labels import EMOTIONS, NEGATIVE, POSITIVE
from harken.models.contract import shifted
from harken.models.losses import token_nll
from harken.models.mime import Mime, MimeConfig, Normal, divergence, mimic, surprise, without_ctx
from harken.text.batches import NO_EMOTION, Batch, Encoded, collate
from harken.text.vocabulary import CLS, EOS, USR, Words
from harken.training.config import load_config
from harken.training.loop import objective

WORDS = Words([f"w{i}" for i in range(20)])
JOYFUL, PROUD, SAD, ANGRY = (EMOTIONS.index(name) for name in ("joyful", "proud", "sad", "angry"))
ABLATIONS: tuple[dict[str, Any], ...] = (
    {},
    {"mimicry": False},
    {"mimicry": False, "grouping": False},
    {"stochastic": False},
    {"variant": "release"},
    {"variant": "release", "mimicry": False, "grouping": False},
)


def batch_of(*emotions: int) -> Batch:
    random = torch.Generator().manual_seed(1)

    def words(n: int) -> list[int]:
        return torch.randint(7, len(WORDS), (n,), generator=random).tolist()

    return collate(
        [
            Encoded([CLS, *words(4 + i)], [CLS] + [USR] * (4 + i), [*words(5 - i), EOS], [], emotion)
            for i, emotion in enumerate(emotions)
        ]
    )


def model_of(d_model: int = 16, **fields: Any) -> Mime:
    torch.manual_seed(5)
    model = Mime(MimeConfig(d_model=d_model, **fields), WORDS)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def fill(layer: nn.Module, weight: list[list[float]], bias: list[float] | None = None) -> None:
    """Give a linear map its numbers."""
    assert isinstance(layer, nn.Linear)
    layer.weight.data = torch.tensor(weight)
    if bias is not None:
        layer.bias.data = torch.tensor(bias)


@torch.no_grad()
def likelihood(model: Mime, batch: Batch, *, oracle: bool = False) -> Tensor:
    return model.nll(batch, model.encode(batch, oracle=oracle)).sum(1)


def test_context_embeddings_by_hand() -> None:
    """(1): word plus speaker, both scaled by the root of the width; positions are added in the encoder."""
    model = model_of(d_model=4)
    model.embedding.weight.data[8], model.embedding.weight.data[USR] = 1.0, 0.5
    batch = collate([Encoded([CLS, 8], [CLS, USR], [EOS], [], 0)])
    torch.testing.assert_close(model.context_embeddings(batch)[0, 1], torch.full((4,), (1.0 + 0.5) * 2))


def test_emotion_logits_by_hand() -> None:
    """(2) to (6): with W_E = 2 I and E_E(joyful) = (1, 0), E_E(sad) = (0, 1), the logits are twice the state of CTX."""
    model, batch = model_of(d_model=2), batch_of(JOYFUL, SAD)
    fill(model.matching, [[2.0, 0.0], [0.0, 2.0]])
    model.emotions.data = torch.zeros(32, 2)
    model.emotions.data[JOYFUL, 0] = model.emotions.data[SAD, 1] = 1.0
    with torch.no_grad():
        c = model.encoder(model.context_embeddings(batch), batch.pad)[:, 0]
        logits = model.encode(batch).emotion_logits
        assert logits is not None
        torch.testing.assert_close(logits[:, [JOYFUL, SAD]], 2 * c)
        joyful, sad = logits.softmax(-1)[[0, 1], [JOYFUL, SAD]].tolist()
        assert model.losses(batch)["emotion"].sum.item() == pytest.approx(-math.log(joyful) - math.log(sad), rel=1e-5)


def test_reparameterisation_by_hand() -> None:
    """(13) to (15): mean (1, 2), log-variance (0, ln 4), so deviation (1, 2); noise (1, -1) falls on (2, 0)."""
    normal = Normal(torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, math.log(4)]]))
    torch.testing.assert_close(normal.at(torch.tensor([[1.0, -1.0]])), torch.tensor([[2.0, 0.0]]))


def test_group_emotions_by_hand() -> None:
    """(7) to (12) at the mean. c = (-1, 2) becomes c' = ReLU((-1, 2)) = (0, 2) and z_pos = (0, 2) + (1, 0) = (1, 2).

    The positive logits are z for joyful and proud and minus infinity for the others: softmax(1, 2) = (.269, .731).
    """
    model = model_of(d_model=2)
    part = model.response_emotions
    fill(part.first, [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    fill(part.mean[0], [[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])
    two = [POSITIVE.index("joyful"), POSITIVE.index("proud")]
    weight, bias = torch.zeros(13, 2), torch.full((13,), -math.inf)
    weight[two], bias[two] = torch.eye(2), 0.0
    fill(part.members[0], weight.tolist(), bias.tolist())
    emotions = torch.zeros(32, 2)
    emotions[JOYFUL], emotions[PROUD] = torch.tensor([4.0, 0.0]), torch.tensor([0.0, 8.0])
    (positive, negative), bound = part(torch.tensor([[-1.0, 2.0]]), emotions)
    share = math.e / (1 + math.e)
    torch.testing.assert_close(positive, torch.tensor([[4 * (1 - share), 8 * share]]))
    assert not negative.any()  # its members' embeddings are all zero
    assert bound == {}


def test_the_groups_are_the_papers() -> None:
    """Table 1: 13 positive and 19 negative emotions, each with a distribution of its own."""
    part = model_of().response_emotions
    assert [len(group) for group in part.groups] == [13, 19]
    assert [EMOTIONS[i] for i in part.groups[0]] == list(POSITIVE)
    assert [EMOTIONS[i] for i in part.groups[1]] == list(NEGATIVE)


def test_divergence_by_hand() -> None:
    """(16): q = N(1, 1), p = N(0, 4): ½ (ln 4 + (1 + 1) / 4 - 1) = .4431 a dimension, .8863 for two."""
    q = Normal(torch.ones(1, 2), torch.zeros(1, 2))
    p = Normal(torch.zeros(1, 2), torch.full((1, 2), math.log(4)))
    assert divergence(q, p).tolist() == pytest.approx([math.log(4) - 0.5])


def test_surprise_by_hand() -> None:
    """(16): (1, 2) under the unit Gaussian around (0, 4): ½ (1 + 4), and ln 2π, a constant left out."""
    given, pooled = torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 4.0]])
    assert surprise(given, pooled).tolist() == [2.5]


NUMBERS = st.lists(st.floats(-3, 3), min_size=4, max_size=4)


@given(st.tuples(NUMBERS, NUMBERS), st.tuples(NUMBERS, NUMBERS))
def test_divergence_is_torchs_and_zero_between_equals(
    one: tuple[list[float], list[float]], other: tuple[list[float], list[float]]
) -> None:
    q, p = (Normal(*map(torch.tensor, parts)) for parts in (one, other))
    known = [torch.distributions.Normal(n.mean, (0.5 * n.log_variance).exp()) for n in (q, p)]
    expected = torch.distributions.kl_divergence(known[0], known[1]).sum()
    torch.testing.assert_close(divergence(q, p), expected, atol=1e-3, rtol=1e-4)
    assert divergence(q, p).item() > -1e-4
    assert divergence(q, q).item() == 0.0


def still(model: Mime) -> None:
    """Take the noise away: every log-variance is -60, every sample its mean."""
    part = model.response_emotions
    for layer in (*part.log_variance, *part.posterior_log_variance):
        assert isinstance(layer, nn.Linear)
        nn.init.zeros_(layer.weight)
        nn.init.constant_(layer.bias, -60.0)


def test_the_bound_by_hand() -> None:
    """(16), (17) without noise: Q reads c with the prior's e_g behind it; its sample is what training hears."""
    model = model_of()
    still(model)
    model.train()
    part, c = model.response_emotions, torch.randn(3, 16)
    heard, bound = part(c, model.emotions)
    kl, reconstruction = torch.zeros(3), torch.zeros(3)
    for g, members in enumerate(part.groups):
        prior = part.mean[g](torch.relu(part.first(c)))
        e = part.members[g](prior).softmax(-1) @ model.emotions[members]
        both = torch.cat([c, e], dim=-1)
        posterior = part.posterior_mean[g](torch.relu(part.posterior_first[g](both)))
        kl += 0.5 * ((posterior - prior) ** 2).sum(-1) / math.exp(-60)
        again = part.members[g](posterior).softmax(-1) @ model.emotions[members]
        reconstruction += 0.5 * ((e - again) ** 2).sum(-1)
        torch.testing.assert_close(heard[g], again)
    torch.testing.assert_close(bound["kl"], kl)
    torch.testing.assert_close(bound["reconstruction"], reconstruction)


@pytest.mark.parametrize("variant", ["paper", "release"])
def test_prior_and_posterior_start_alike(variant: str) -> None:
    """The divergence begins at zero and leaves the context's summary alone."""
    model = Mime(MimeConfig(d_model=16, variant=variant), WORDS)  # type: ignore[arg-type]
    model.train()
    assert model.losses(batch_of(JOYFUL, SAD))["kl"].sum.item() == 0.0


def test_what_the_posterior_is_given_is_a_constant() -> None:
    """(16) does not teach the prior to be easy to guess: from its second part alone it learns nothing."""
    model = model_of()
    model.train()
    _, bound = model.response_emotions(torch.randn(3, 16), model.emotions)
    weights = list(model.response_emotions.mean.parameters())
    reconstructed = torch.autograd.grad(bound["reconstruction"].sum(), weights, allow_unused=True, retain_graph=True)
    assert all(slope is None for slope in reconstructed)
    assert all(slope.any() for slope in torch.autograd.grad(bound["kl"].sum(), weights))


def test_mimicry_by_hand() -> None:
    """(18), (19): a positive speaker hears the positive emotion first, a negative one the negative."""
    positive, negative = torch.tensor([[1.0], [2.0]]), torch.tensor([[-1.0], [-2.0]])
    same, other = mimic(positive, negative, torch.tensor([True, False]))
    assert (same.tolist(), other.tolist()) == ([[1.0], [-2.0]], [[-1.0], [2.0]])


def test_mimicry_swaps_with_polarity() -> None:
    """The oracle's polarity counts and nothing else of the emotion; without labels the predicted one does."""
    model = model_of()
    joyful, proud, sad, angry = (likelihood(model, batch_of(e, e), oracle=True) for e in (JOYFUL, PROUD, SAD, ANGRY))
    assert torch.equal(joyful, proud)
    assert torch.equal(sad, angry)
    assert not torch.isclose(joyful, sad).any()
    honest = likelihood(model, batch_of(JOYFUL, JOYFUL))
    assert torch.equal(likelihood(model, batch_of(NO_EMOTION, NO_EMOTION), oracle=True), honest)
    logits = model.encode(batch_of(JOYFUL, JOYFUL)).emotion_logits
    assert logits is not None
    predicted = [EMOTIONS[i] in POSITIVE for i in logits.argmax(1).tolist()]
    assert torch.equal(honest, torch.where(torch.tensor(predicted), joyful, sad))


def test_training_uses_gold_polarity_and_validation_does_not() -> None:
    model = model_of(stochastic=False)
    right, wrong = batch_of(JOYFUL, JOYFUL), batch_of(SAD, SAD)
    assert torch.equal(model.losses(right)["nll"].sum, model.losses(wrong)["nll"].sum)
    model.train()
    assert not torch.isclose(model.losses(right)["nll"].sum, model.losses(wrong)["nll"].sum)


def test_refinement_by_hand() -> None:
    """(20) to (23): one encoder over [H ; m] and over [H ; m~]; M and M~ change places with the emotions."""
    model, batch = model_of(), batch_of(JOYFUL, SAD)
    context, m, other = torch.randn(2, batch.pad.shape[1], 16), torch.randn(2, 16), torch.randn(2, 16)
    refined = model.refine(context, batch.pad, [m, other])
    coloured = torch.cat([context, m[:, None].repeat(1, context.shape[1], 1)], dim=-1)
    torch.testing.assert_close(refined[0], model.refiners[0](coloured, batch.pad))
    for one, swapped in zip(refined, reversed(model.refine(context, batch.pad, [other, m])), strict=True):
        torch.testing.assert_close(one, swapped)


def test_ctx_is_no_part_of_the_refined_context() -> None:
    """(20) starts at H_1; only a context without words keeps its CTX. The release keeps every CTX."""
    pad = torch.tensor([[False, False, True], [False, True, True]])
    assert without_ctx(pad).tolist() == [[True, False, True], [False, True, True]]
    batch = batch_of(JOYFUL, SAD)
    assert model_of().encode(batch).pad[:, 0].all()
    assert torch.equal(model_of(variant="release").encode(batch).pad, batch.pad)


def test_fusion_by_hand() -> None:
    """(24) to (27): M = (1, 2), M~ = (3, 4); a gate of σ(ln 3) = 3/4 on each; FC_fused adds up each half and adds 1."""
    model = model_of(d_model=2)
    fill(model.contribution, [[0.0] * 4] * 4, [math.log(3)] * 4)
    fill(model.fusion, [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]], [1.0, 1.0])
    fused = model.fuse([torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 4.0]]])])
    torch.testing.assert_close(fused, torch.tensor([[[1 + 0.75 * 3, 1 + 0.75 * 7]]]))


def test_decoding_and_the_loss_by_hand() -> None:
    """(28) to (31): the decoder over the shifted response looks at M_fused alone; the words' loss is their -log P."""
    model, batch = model_of(smoothing=0.0), batch_of(JOYFUL, SAD)
    with torch.no_grad():
        state = model.encode(batch)
        caches = model.decoder.start(state.memory)
        o = model.decoder(model.embedding(shifted(batch.target)), caches, state.mask)
        expected = token_nll(model.output(o), batch.target, batch.target_pad)
        torch.testing.assert_close(model.losses(batch)["response"].sum, expected.sum)


def test_the_whole_loss_by_hand() -> None:
    """(32): L = L_cls + (L_ELBO_pos + L_ELBO_neg) + L_resp; what is only measured does not count.

    As the release adds up: words and divergence over the batch of two, the rest as means.
    """
    model, batch = model_of(), batch_of(JOYFUL, SAD)
    model.train()
    config = load_config(Path(__file__).parents[1] / "configs" / "mime.yaml").training
    terms = model.losses(batch)
    assert set(terms) == {"response", "nll", "emotion", "accuracy", "kl", "reconstruction"}
    expected = (terms["emotion"].sum + terms["reconstruction"].sum) / 2 + terms["kl"].sum + terms["response"].sum
    torch.testing.assert_close(objective(terms, terms, config), expected)
    assert int(terms["kl"].count) == 2


@pytest.mark.parametrize("fields", ABLATIONS, ids=str)
def test_every_weight_learns(fields: dict[str, Any]) -> None:
    """No part is dead weight, whatever is switched off."""
    model, batch = model_of(**fields), batch_of(JOYFUL, SAD, ANGRY)
    model.train()
    terms = model.losses(batch)
    torch.autograd.backward(sum((term.sum for term in terms.values() if term.sum.requires_grad), torch.tensor(0.0)))
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()] == []


def size(**fields: Any) -> int:
    return sum(parameter.numel() for parameter in model_of(**fields).parameters())


def test_ablations_remove_their_parts() -> None:
    """Width 16: a map 16 · 16 + 16 = 272, a wide one 2 · 256 + 16 = 528, the gate 32 · 32 + 32 and 32 · 16 + 16."""
    whole = size()
    assert size(mimicry=False) == whole  # the same parts in another order
    # one group: a mean, a variance and their posterior less; one distribution of 32; a gate for one context
    group = 4 * 272 + 528
    assert whole - size(mimicry=False, grouping=False) == group + (1_056 - 272) + (528 - 272)
    # no noise: two variances and the two posteriors less
    assert whole - size(stochastic=False) == 2 * 272 + 2 * (528 + 2 * 272)
    # the release: one encoder more, the negative group's two variances less
    encoder = sum(parameter.numel() for parameter in model_of().refiners.parameters())
    assert size(variant="release") - whole == encoder - 2 * 272


def test_without_mimicry_polarity_does_not_matter() -> None:
    model = model_of(mimicry=False)
    assert torch.equal(
        likelihood(model, batch_of(JOYFUL, JOYFUL), oracle=True), likelihood(model, batch_of(SAD, SAD), oracle=True)
    )


def test_without_grouping_one_emotion_is_pooled_of_all() -> None:
    model = model_of(mimicry=False, grouping=False)
    (pooled,), _ = model.response_emotions(torch.zeros(1, 16), model.emotions)
    assert model.response_emotions.groups == [list(range(32))]
    assert pooled.shape == (1, 16)


def test_without_stochasticity_training_is_certain() -> None:
    certain, noisy = model_of(stochastic=False), model_of()
    batch = batch_of(JOYFUL, SAD)
    certain.train()
    noisy.train()
    assert torch.equal(certain.losses(batch)["nll"].sum, certain.losses(batch)["nll"].sum)
    assert not torch.equal(noisy.losses(batch)["nll"].sum, noisy.losses(batch)["nll"].sum)
    assert not {"kl", "reconstruction"} & set(certain.losses(batch))


def test_only_the_release_is_noisy_at_test_time() -> None:
    batch = batch_of(JOYFUL, SAD)
    paper, release = model_of(), model_of(variant="release")
    assert torch.equal(likelihood(paper, batch), likelihood(paper, batch))
    assert not torch.equal(likelihood(release, batch), likelihood(release, batch))


@pytest.mark.parametrize(("variant", "hears"), [("paper", True), ("release", False)])
def test_only_the_paper_hears_the_posterior(variant: str, hears: bool) -> None:
    """The release computes the posterior's sample and drops it, and it has no reconstruction."""
    model, batch = model_of(variant=variant), batch_of(JOYFUL, SAD)
    model.train()
    torch.manual_seed(0)
    before = model.losses(batch)
    for layer in model.response_emotions.posterior_mean:
        assert isinstance(layer, nn.Linear)
        nn.init.constant_(layer.bias, 5.0)
    torch.manual_seed(0)
    after = model.losses(batch)
    assert torch.equal(before["nll"].sum, after["nll"].sum) is not hears
    assert not torch.isclose(before["kl"].sum, after["kl"].sum)
    assert ("reconstruction" in after) is hears


def test_the_release_has_one_variance_for_both_groups() -> None:
    """With the first group's variance gone, the second group's sample is its mean too."""
    model = model_of(variant="release")
    still(model)
    c = torch.randn(2, 16)
    part = model.response_emotions
    negative = part(c, model.emotions)[0][1]
    mean = part.members[1](part.mean[1](torch.relu(part.first(c)))).softmax(-1) @ model.emotions[part.groups[1]]
    torch.testing.assert_close(negative, mean)


def test_emotion_vectors_are_for_plotting() -> None:
    vectors = model_of().emotion_vectors()
    assert vectors.shape == (32, 16)
    assert not vectors.requires_grad


def test_size_is_near_the_published_one() -> None:
    """Published: 17.80M. The printed equations with 23,700 words have 16.90M, the release's parts 17.03M."""
    words = Words([str(i) for i in range(23_700 - 7)])
    paper, release = (
        sum(parameter.numel() for parameter in Mime(MimeConfig(variant=variant), words).parameters())
        for variant in ("paper", "release")
    )
    attention, conv, norm, square = 4 * 300 * 40, 45_050 + 45_300, 600, 300 * 300
    encoder, decoder = attention + conv + 3 * norm + square, 2 * attention + conv + 4 * norm + square
    refiner = encoder + square  # its input is twice as wide
    latent = 9 * (square + 300) + 2 * (2 * square + 300) + (300 + 1) * 32
    gate = 600 * 600 + 600 + 600 * 300 + 300
    expected = 23_700 * 601 + encoder + decoder + refiner + latent + gate + square + 32 * 300
    assert paper == expected
    assert release == expected + refiner - 2 * (square + 300)
    assert paper == pytest.approx(17.80e6, rel=0.06)
    assert release == pytest.approx(17.80e6, rel=0.05)


def test_a_config_says_all_that_is_wrong() -> None:
    with pytest.raises(HarkenError) as caught:
        build(MimeConfig, {"grouping": False, "refiner_layers": 0})
    assert "mimicry = true needs the two groups" in str(caught.value)
    assert "refiner_layers = 0 must be at least 1" in str(caught.value)


def test_the_shipped_config_is_the_papers() -> None:
    config = load_config(Path(__file__).parents[1] / "configs" / "mime.yaml")
    assert config.network == MimeConfig()

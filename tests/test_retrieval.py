"""Bi-encoders: losses worked by hand, cached gradients equal to plain ones, and the contract every ranker keeps."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from harken.errors import HarkenError
from harken.retrieval import rankers
from harken.retrieval.config import RankerConfig, RankerRunConfig, RankerTraining, load_config
from harken.retrieval.gradients import batch_backward
from harken.retrieval.losses import cached_backward, in_batch_nll, own_negatives_nll
from harken.retrieval.rankers import Ranker
from harken.retrieval.ranking import figures
from harken.training.run import write_config
from retrieval_parts import bert_folder, small_bert, small_transformer

CONFIGS = Path(__file__).parents[1] / "configs"
CONTEXTS = [("i lost my dog",), ("my cat died", "so sorry", "it is sad"), ("i won",), ("how did it go",), ("no",)]
RESPONSES = ["oh no", "that is so sad", "well done", "it did go well", "oh no"]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert_folder(tmp_path_factory.mktemp("bert") / "encoder")


@pytest.fixture(params=["transformer", "pretrained", "separate"])
def ranker(request: pytest.FixtureRequest) -> Ranker:
    if request.param == "transformer":
        return small_transformer()
    return small_bert(request.getfixturevalue("checkpoint"), separate=request.param == "separate")


def test_in_batch_loss_by_hand() -> None:
    """Scores ((ln 3, 0), (0, ln 1)): the responses have probability 3/4 and 1/2, so the sum is ln(4/3) + ln 2."""
    contexts = torch.tensor([[math.log(3), 0.0], [0.0, 0.0]])
    candidates = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    loss = in_batch_nll(contexts, candidates)
    assert loss.sum.item() == pytest.approx(math.log(4 / 3) + math.log(2))
    assert loss.count.item() == 2
    half = in_batch_nll(contexts, candidates, scale=0.5)  # sqrt 3 in place of 3
    assert half.sum.item() == pytest.approx(math.log((1 + math.sqrt(3)) / math.sqrt(3)) + math.log(2))


def test_a_candidate_that_says_the_same_is_no_negative() -> None:
    """With the twin left out only the third candidate stands against the first: p = 2/(2+1)."""
    contexts = torch.tensor([[math.log(2), 0.0]])
    candidates = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    same = torch.tensor([[True, True, False]])
    assert in_batch_nll(contexts, candidates, same=same).sum.item() == pytest.approx(math.log(3 / 2))
    assert in_batch_nll(contexts, candidates).sum.item() == pytest.approx(math.log(5 / 2))


def test_equation_11_by_hand() -> None:
    """sim(c, gold) = ln 5, sims with the negatives ln 2 and ln 1: L = -log 5/(5 + 2 + 1)."""
    contexts = torch.tensor([[1.0, 1.0]])
    gold = torch.tensor([[math.log(5), 0.0]])
    negatives = torch.tensor([[[0.0, math.log(2)], [0.0, 0.0]]])
    loss = own_negatives_nll(contexts, gold, negatives)
    assert loss.sum.item() == pytest.approx(-math.log(5 / 8))
    assert loss.count.item() == 1


def test_eq_11_sees_only_its_own_negatives() -> None:
    """Another row's negatives change nothing; with the batch's candidates (DPR) they do."""
    draw = torch.Generator().manual_seed(0)
    x, y, z = (torch.randn(*shape, generator=draw) for shape in ((3, 4), (3, 4), (3, 2, 4)))
    other = z.clone()
    other[1:] += 1
    alone = [own_negatives_nll(x[:1], y[:1], part[:1]).sum for part in (z, other)]
    assert torch.equal(alone[0], alone[1])
    pooled = [in_batch_nll(x, torch.cat([y, part.flatten(0, 1)])).sum for part in (z, other)]
    assert not torch.allclose(pooled[0], pooled[1])


def gradients(module: nn.Module) -> list[Tensor]:
    found = [parameter.grad.clone() for parameter in module.parameters() if parameter.grad is not None]
    module.zero_grad(set_to_none=True)
    return found


@pytest.mark.parametrize("kept", [0, 1, 2, 9])
def test_cached_gradients_are_the_plain_ones(kept: int) -> None:
    """The same dropout, any number of chunks kept: the gradient of one big batch, to the last digits."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 5)).double()
    x = torch.randn(12, 6, dtype=torch.double)
    chunks: list[Callable[[], Tensor]] = [partial(net, x[start : start + 3]) for start in range(0, 12, 3)]

    def loss_of(vectors: list[Tensor]) -> Tensor:
        whole = torch.cat(vectors)
        return in_batch_nll(whole[:6], whole[6:]).mean

    plain = []
    for number, chunk in enumerate(chunks):
        torch.manual_seed(7 + number)
        plain.append(chunk())
    expected = loss_of(plain)
    expected.backward()  # type: ignore[no-untyped-call]
    wanted = gradients(net)
    found = cached_backward(chunks, loss_of, kept=kept, seed=7)
    assert found.item() == pytest.approx(expected.item(), abs=1e-12)
    for a, b in zip(gradients(net), wanted, strict=True):
        assert torch.allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("negatives", ["batch", "own", "both"])
def test_a_batch_in_chunks_is_a_batch_at_once(ranker: Ranker, negatives: str) -> None:
    """Rows are sorted by length into chunks and go back: any chunk size and memory gives the same gradient to 1e-6."""
    candidates = RESPONSES + ([] if negatives == "batch" else (RESPONSES[::-1] * 2))
    ranker.train()
    results = []
    for chunk, kept in ((99, 99), (2, 0), (1, 3)):
        training = RankerTraining(negatives=negatives, both_ways=True, chunk=chunk, kept=kept)  # type: ignore[arg-type]
        config = RankerRunConfig(model="ranker", corpora=("starter",), network=ranker.config, training=training)
        loss = batch_backward(ranker, CONTEXTS, candidates, config, 0)["nll"]
        results.append((loss, gradients(ranker)))
    for loss, slopes in results[1:]:
        assert loss.item() == pytest.approx(results[0][0].item(), abs=1e-6)
        for a, b in zip(slopes, results[0][1], strict=True):
            assert torch.allclose(a, b, atol=1e-6)


def test_batched_equals_one_by_one(ranker: Ranker) -> None:
    """Neither padding nor company changes a vector."""
    together = ranker.encode_contexts(CONTEXTS)
    alone = np.concatenate([ranker.encode_contexts([context]) for context in CONTEXTS])
    assert together == pytest.approx(alone, abs=1e-5)


def test_the_last_turns_of_a_context_and_the_first_words_of_a_candidate_count(ranker: Ranker) -> None:
    long = ("my cat died",) * 3 + ("i lost my dog", "oh no", "my cat died", "i won")
    same = ("how did it go", *long[-4:])
    assert ranker.encode_contexts([long]) == pytest.approx(ranker.encode_contexts([same]))
    limit = ranker.config.max_candidate
    a, b = (ranker.encode_candidates([" ".join([*["sad"] * 150, end])]) for end in ("well", "no"))
    assert a == pytest.approx(b)
    rows = ranker.tokens("context", [("well " + "sad " * 150 + "no",)])
    assert rows.ids.shape[1] <= limit
    one, two = (ranker.encode_contexts([("sad " * 150 + end,)]) for end in ("well", "no"))
    assert one != pytest.approx(two)


def test_one_word_and_words_nobody_knows(ranker: Ranker) -> None:
    vectors = ranker.encode_contexts([("no",), ("qwertz uiop",), ("?!",)])
    assert np.isfinite(vectors).all()
    assert vectors.shape == (3, ranker.width)


def test_a_saved_ranker_is_the_same_ranker(ranker: Ranker, tmp_path: Path) -> None:
    ranker.eval().save(tmp_path)
    write_config(tmp_path, RankerRunConfig(model="ranker", corpora=("starter",), network=ranker.config))
    again = rankers.load(tmp_path)
    assert again.fingerprint() == ranker.fingerprint()
    assert again.encode_contexts(CONTEXTS) == pytest.approx(ranker.encode_contexts(CONTEXTS), abs=1e-6)
    with torch.no_grad():
        next(iter(again.parameters())).view(-1)[-1] += 1e-3
    assert again.fingerprint() != ranker.fingerprint()


def test_two_encoders_part_ways_and_one_does_not(checkpoint: Path) -> None:
    one, two = small_bert(checkpoint), small_bert(checkpoint, separate=True)
    with torch.no_grad():
        for model in (one, two):
            for parameter in model.encoder("candidate").parameters():
                parameter.mul_(1.1)
    same = [model.encode_contexts([("oh no",)]) - model.encode_candidates(["oh no"]) for model in (one, two)]
    assert np.abs(same[0]).max() < 1e-6 < np.abs(same[1]).max()


def test_what_stays_frozen(checkpoint: Path) -> None:
    """By default the embeddings, with null nothing, with 1 the only layer too."""

    def trained(layers: int | None) -> set[str]:
        model = small_bert(checkpoint, frozen_layers=layers)
        return {name.split(".")[3] for name, weight in model.named_parameters() if weight.requires_grad}

    assert trained(None) == {"embeddings", "encoder", "pooler"}
    assert trained(0) == {"encoder"}
    assert trained(1) == set()


def test_word_vectors_start_the_table(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("sad 4 2 0 0\nunheard 1 1 1 1\n", encoding="utf-8")
    config = RankerConfig(kind="transformer", d_model=4, n_heads=2, n_layers=1, d_inner=4, min_count=1, vectors=path)
    made = rankers.build(config, lambda: ["that is sad"])
    assert isinstance(made, rankers.TransformerRanker)
    row = made.embedding(torch.tensor(made.vocabulary.encode("sad")))
    assert row.tolist() == [[4, 2, 0, 0]]  # the table is scaled by sqrt(D) when it is read


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_figures_stay_in_bounds_and_p_at_1_never_passes_recall(seed: int) -> None:
    draw = np.random.default_rng(seed)
    x, y = draw.normal(size=(2, 210, 3))
    found = figures(x, y)
    assert 0 <= found["p@1,100"] <= found["recall@10"] <= 100
    assert found["p@1,100"] / 100 <= found["mrr"] <= 1


@pytest.mark.parametrize("name", ["ranker-transformer", "ranker-minilm", "exemplars"])
def test_shipped_configs_build(name: str) -> None:
    config = load_config(CONFIGS / f"{name}.yaml")
    assert config.network.history == 4
    assert config.network.max_context == 100
    assert (config.network.kind == "transformer") == (name == "ranker-transformer")


def test_mistakes_of_a_config_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(
        "model: ranker\ncorpora: []\nnetwork: {scale: 0, n_head: 2}\ntraining: {chunk: 0}\n", encoding="utf-8"
    )
    with pytest.raises(HarkenError) as caught:
        load_config(path)
    for part in ("did you mean 'n_heads'?", "network.scale = 0.0 must be above 0", "training.chunk = 0"):
        assert part in str(caught.value)

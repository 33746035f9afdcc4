"""The laws every generator keeps: a model joins by its line in MODELS."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from harken.corpora import store
from harken.decoding import DecodingConfig, decode
from harken.decoding.replies import answer
from harken.dialogue import Dialogue, Example, Turn, examples
from harken.labels import EMOTIONS
from harken.models import MODELS
from harken.models.contract import Generator
from harken.text.batches import NO_LABEL, Batch, collate, encode_dialogues
from harken.text.vocabulary import PAD, SOS, TextConfig, Words, build_vocabulary
from harken.training.config import RunConfig, build_config
from harken.training.evaluate import evaluate, summary
from harken.training.likelihoods import merged_nll
from harken.training.loop import train
from harken.training.run import load_run, read_checkpoint
from training_parts import Stop

DIALOGUES = [
    Dialogue(
        id=f"d{number}",
        turns=tuple(Turn("listener" if i % 2 else "speaker", text) for i, text in enumerate(texts)),
        emotion=emotion,
        split=split,
    )
    for split in ("train", "valid")
    for number, (emotion, *texts) in enumerate(
        (
            ("sad", "My old dog died.", "Oh no, I am so sorry.", "She was twelve.", "That is a long life together."),
            ("joyful", "I got the job!", "Congratulations! When do you start?"),
            ("afraid", "There was a noise downstairs last night and I could not sleep.", "Did you look what it was?"),
        )
    )
]  # fmt: skip
DIALOGUES = [dataclasses.replace(dialogue, id=f"{dialogue.id}-{dialogue.split}") for dialogue in DIALOGUES]
TEXT = TextConfig(source="all")


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def vocabulary() -> Words:
    words = build_vocabulary(DIALOGUES, TEXT)
    assert isinstance(words, Words)
    return words


@pytest.fixture
def generator(name: str, vocabulary: Words) -> Generator:
    """An untrained generator, its small starting weights shaken so that nothing is nearly zero by chance."""
    torch.manual_seed(3)
    model = MODELS[name].model(MODELS[name].config(d_model=32), vocabulary)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        model.embedding.weight[PAD] = 0.0
    return model.eval()


@pytest.fixture
def batch(vocabulary: Words) -> Batch:
    return collate(encode_dialogues(DIALOGUES[:3], vocabulary, TEXT))


def rows_of(batch: Batch, rows: Sequence[int]) -> Batch:
    return Batch(**{f.name: getattr(batch, f.name)[list(rows)] for f in dataclasses.fields(batch)})


@torch.inference_mode()
def likelihoods(generator: Generator, batch: Batch) -> Tensor:
    return generator.nll(batch, generator.encode(batch)).sum(1)


def test_cached_steps_equal_full_decoding(generator: Generator, batch: Batch) -> None:
    with torch.inference_mode():
        whole = generator.nll(batch, generator.encode(batch))
        state = generator.encode(batch)
        tokens = torch.full((len(batch),), SOS)
        for position in range(batch.target.shape[1]):
            log_p = generator.step(tokens, state).log_softmax(-1)
            tokens = batch.target[:, position]
            stepped = -log_p.gather(1, tokens.unsqueeze(1)).squeeze(1).masked_fill(batch.target_pad[:, position], 0)
            torch.testing.assert_close(stepped, whole[:, position], atol=1e-4, rtol=1e-4)


def test_batched_equals_one_by_one(generator: Generator, batch: Batch) -> None:
    together = likelihoods(generator, batch)
    for row in range(len(batch)):
        alone = collate_again(rows_of(batch, [row]))
        torch.testing.assert_close(likelihoods(generator, alone)[0], together[row], atol=1e-4, rtol=1e-4)


def collate_again(batch: Batch) -> Batch:
    """A batch of one without its padding."""
    s, t, f = (int((~mask).sum()) for mask in (batch.pad, batch.target_pad, batch.feedback_pad))
    cut = {
        "context": s,
        "roles": s,
        "pad": s,
        "labels": s,
        "target": t,
        "target_pad": t,
        "feedback": max(1, f),
        "feedback_pad": max(1, f),
    }
    return dataclasses.replace(batch, **{field: getattr(batch, field)[:, :n] for field, n in cut.items()})


def padded(batch: Batch, more: int) -> Batch:
    def wide(x: Tensor, value: int) -> Tensor:
        return torch.nn.functional.pad(x, (0, more), value=value)

    masks = {field: wide(getattr(batch, field), True) for field in ("pad", "target_pad", "feedback_pad")}
    ids = {field: wide(getattr(batch, field), PAD) for field in ("context", "roles", "target", "feedback")}
    return dataclasses.replace(batch, labels=wide(batch.labels, NO_LABEL), **masks, **ids)


def test_padding_never_matters(generator: Generator, batch: Batch) -> None:
    wide = padded(batch, 7)
    torch.testing.assert_close(likelihoods(generator, wide), likelihoods(generator, batch), atol=1e-4, rtol=1e-4)
    config = DecodingConfig(max_length=8)
    assert [h[0].tokens for h in decode(generator, wide, config)] == [
        h[0].tokens for h in decode(generator, batch, config)
    ]


@pytest.mark.parametrize(
    "settings", [{}, {"beam": 4}, {"beam": 4, "groups": 2, "mutual": 0.5}, {"sample": True, "top_k": 9}]
)
def test_the_same_reply_whatever_the_batch(generator: Generator, batch: Batch, settings: Mapping[str, Any]) -> None:
    config = DecodingConfig(max_length=8, no_repeat=2, **settings)
    together = decode(generator, batch, config)
    for row in range(len(batch)):
        [alone] = decode(generator, collate_again(rows_of(batch, [row])), config)
        assert [h.tokens for h in alone] == [h.tokens for h in together[row]]


def test_in_a_smaller_vocabulary_words_outside_count_as_one(generator: Generator, batch: Batch) -> None:
    """Merging nothing changes nothing; merging everything but one gold word leaves it as likely and others likelier."""
    nothing = torch.zeros(generator.n_tokens, dtype=torch.bool)
    gold = int(batch.target[0, 0])
    with torch.inference_mode():
        plain = generator.nll(batch, generator.encode(batch))
        same = merged_nll(generator, batch, generator.encode(batch), nothing)
        merged = merged_nll(generator, batch, generator.encode(batch), torch.arange(generator.n_tokens) != gold)
    torch.testing.assert_close(same, plain, atol=1e-4, rtol=1e-4)
    here = (batch.target == gold) & ~batch.target_pad
    torch.testing.assert_close(merged[here], plain[here], atol=1e-4, rtol=1e-4)
    others = ~here & ~batch.target_pad
    assert bool((merged[others] < plain[others]).all())
    assert float(merged[batch.target_pad].sum()) == 0


def test_gold_emotions_are_not_looked_at(generator: Generator, batch: Batch) -> None:
    other = dataclasses.replace(batch, emotion=(batch.emotion + 7) % len(EMOTIONS))
    assert torch.equal(likelihoods(generator, other), likelihoods(generator, batch))


def test_beams_move_their_caches(generator: Generator, batch: Batch) -> None:
    """Two hypotheses that change places and one that doubles go on as if they had always been there."""
    with torch.inference_mode():
        state = generator.encode(batch).select(torch.tensor([0, 0, 1]))
        first = torch.tensor([8, 9, 10])
        generator.step(torch.full((3,), SOS), state)
        generator.step(first, state)
        moved = state.reorder(torch.tensor([1, 0, 2]))
        after = generator.step(torch.tensor([11, 11, 11]), moved)
        fresh = generator.encode(batch).select(torch.tensor([0, 0, 1]))
        generator.step(torch.full((3,), SOS), fresh)
        generator.step(first[[1, 0, 2]], fresh)
        torch.testing.assert_close(after, generator.step(torch.tensor([11, 11, 11]), fresh), atol=1e-5, rtol=1e-5)


def test_losses_are_sums_with_counts(generator: Generator, batch: Batch) -> None:
    generator.train()
    terms = generator.losses(batch)
    assert terms["response"].sum.requires_grad
    assert not terms["nll"].sum.requires_grad
    assert int(terms["nll"].count) == int((~batch.target_pad).sum())
    assert ("emotion" in terms) == generator.needs_emotion


def test_contexts_of_any_size(generator: Generator, vocabulary: Words) -> None:
    """No word at all, only unknown words, ten thousand words."""
    said = ("", "qwertz uiop", "the old dog " * 3_400)
    talks = [Dialogue(str(i), (Turn("speaker", text), Turn("listener", "Oh no."))) for i, text in enumerate(said)]
    rows = encode_dialogues(talks, vocabulary, TEXT)
    assert [len(row.context) for row in rows] == [1, 3, TEXT.max_context]
    replies = answer(generator, vocabulary, rows, DecodingConfig(max_length=4))
    assert all(one.texts[0] for one in replies)


GENTLER: dict[str, dict[str, Any]] = {"meed2": {"learning_rate": 0.001}}
"""Models that the common rate throws off: layers with their norms behind learn at a low rate only."""


def run_config(name: str, **training: Any) -> RunConfig:
    network: dict[str, Any] = {"d_model": 32}
    if any(field.name == "smoothing" for field in dataclasses.fields(MODELS[name].config)):
        network["smoothing"] = 0.0
    network |= training.pop("network", {})
    settings = {
        "schedule": "constant",
        "learning_rate": 0.005,
        "warmup": 10,
        "batch_size": 2,
        "patience": 99,
    }
    settings |= GENTLER.get(name, {}) | training
    values = {"model": name, "corpus": "three", "network": network, "text": {"source": "all"}, "training": settings}
    return build_config(values)


@pytest.fixture
def three(home: Path) -> None:
    """The three dialogues as a stored corpus."""
    store.save("three", DIALOGUES, title="Three", citation="", licence="", origin="tests")


@pytest.mark.slow
@pytest.mark.usefixtures("three")
def test_three_dialogues_are_learnt_by_heart(name: str, tmp_path: Path) -> None:
    """Perplexity below 1.1, and greedy and beam return the gold replies from the saved run."""
    config = run_config(name, max_steps=400, validate_every=100)
    metrics = train(config, tmp_path / "run")
    assert metrics["valid"]["perplexity"] < 1.1
    run = load_run(tmp_path / "run")
    rows = encode_dialogues(DIALOGUES[:3], run.vocabulary, run.config.text)
    assert summary(evaluate(run.generator, rows))["perplexity"] < 1.1
    told: list[Example] = [example for dialogue in DIALOGUES[:3] for example in examples(dialogue)]
    gold = [run.vocabulary.decode(run.vocabulary.encode(example.response.text)) for example in told]
    for decoding in (DecodingConfig(), DecodingConfig(beam=4)):
        assert [one.texts[0] for one in answer(run.generator, run.vocabulary, rows, decoding)] == gold


@pytest.mark.slow
@pytest.mark.usefixtures("three")
def test_resuming_equals_an_uninterrupted_run(name: str, tmp_path: Path) -> None:
    """Twelve steps with dropout, and twelve with Ctrl-C in between, end at the same weights to the last bit."""
    config = run_config(name, max_steps=12, validate_every=5, network={"dropout": 0.2})
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(config, whole)
    with pytest.raises(KeyboardInterrupt):
        train(config, broken, watchers=[Stop(6)])
    train(config, broken, resume=True)
    expected, found = read_checkpoint(whole, config), read_checkpoint(broken, config)
    assert expected["weights"].keys() == found["weights"].keys()
    assert all(torch.equal(weight, found["weights"][key]) for key, weight in expected["weights"].items())
    assert found["progress"] | {"seconds": 0} == expected["progress"] | {"seconds": 0}
    assert (whole / "log.jsonl").read_text().count('"valid"') == (broken / "log.jsonl").read_text().count('"valid"')

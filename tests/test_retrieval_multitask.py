"""Multitask rankers: the losses by hand, gradients in chunks, emotions learnt beside the ranking and told by the listener."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import retrieval_parts
from harken.corpora import store
from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError
from harken.labels import EMOTIONS
from harken.listeners import load_listener
from harken.listeners.retrieval import write_replies
from harken.retrieval import rankers
from harken.retrieval.config import RankerConfig, RankerRunConfig, RankerTraining
from harken.retrieval.exemplars import Finder, write_exemplars
from harken.retrieval.gradients import batch_backward
from harken.retrieval.index import Index
from harken.retrieval.multitask import emotion_figures, emotion_numbers, joint_loss, likeliest
from harken.retrieval.rankers import Ranker
from harken.retrieval.training import train
from harken.training.run import write_config
from harken.training.session import StopRequested
from retrieval_parts import Losses, bert_folder, small_bert, small_transformer

CONTEXTS = [("i lost my dog",), ("my cat died", "so sorry", "it is sad"), ("i won",), ("how did it go",), ("no",)]
RESPONSES = ["oh no", "that is so sad", "well done", "it did go well", "oh no"]
FEELINGS = ["sad", "sad", "proud", None, "afraid"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert_folder(tmp_path_factory.mktemp("bert") / "encoder")


@pytest.fixture(params=["transformer", "pretrained", "separate"])
def ranker(request: pytest.FixtureRequest) -> Ranker:
    if request.param == "transformer":
        return small_transformer(multitask=0.5)
    folder = request.getfixturevalue("checkpoint")
    return small_bert(folder, separate=request.param == "separate", multitask=0.5)


def run_config(network: RankerConfig, **training: object) -> RankerRunConfig:
    chosen = RankerTraining(**training)  # type: ignore[arg-type]
    return RankerRunConfig(model="ranker", corpora=("made",), network=network, training=chosen)


def backward(ranker: Ranker, **training: object) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Losses and gradients of one batch."""
    ranker.zero_grad(set_to_none=True)
    losses = batch_backward(ranker, CONTEXTS, RESPONSES, run_config(ranker.config, **training), 0, FEELINGS)
    return losses, {name: one.grad.clone() for name, one in ranker.named_parameters() if one.grad is not None}


def head(ranker: Ranker) -> nn.Linear:
    assert ranker.added.emotions is not None
    return ranker.added.emotions


# Worked by hand


def test_the_losses_are_summed() -> None:
    """A ranking loss of ln 2 and a half of ln 4 for the emotions: 2 ln 2."""
    assert joint_loss(torch.tensor(math.log(2)), torch.tensor(math.log(4)), 0.5).item() == pytest.approx(
        2 * math.log(2)
    )


def test_the_emotions_of_a_batch() -> None:
    """With e^b = 3 for sad and 1 for the other 31, the four known emotions have p = 3/34, 3/34, 1/34, 1/34; the unknown one
    has no part. Two of four are told."""
    ranker = small_transformer(multitask="emotion")
    with torch.no_grad():
        head(ranker).weight.zero_()
        head(ranker).bias.zero_()[EMOTIONS.index("sad")] = math.log(3)
    losses, slopes = backward(ranker)
    assert losses["emotion"].item() == pytest.approx((2 * math.log(34 / 3) + 2 * math.log(34)) / 4, rel=1e-6)
    assert losses["accuracy"].item() == pytest.approx(0.5)
    bias = slopes["added.emotions.bias"]  # p - share of the gold ones
    assert bias[EMOTIONS.index("sad")].item() == pytest.approx(3 / 34 - 2 / 4, rel=1e-5)
    assert bias[EMOTIONS.index("proud")].item() == pytest.approx(1 / 34 - 1 / 4, rel=1e-5)
    assert bias[EMOTIONS.index("joyful")].item() == pytest.approx(1 / 34, rel=1e-5)


def test_a_batch_without_emotions_only_ranks() -> None:
    ranker = small_transformer(multitask="emotion")
    losses = batch_backward(ranker, CONTEXTS, RESPONSES, run_config(ranker.config), 0, [None] * 5)
    assert set(losses) == {"nll"}
    assert not head(ranker).weight.grad.any()  # type: ignore[union-attr]


def test_figures_by_hand() -> None:
    """Gold first, gold second, unknown, gold last: of three known ones 1/3, 2/3 and 2/3."""
    logits = np.tile(np.arange(32, 0, -1, dtype=np.float32), (4, 1))
    names = [EMOTIONS[0], EMOTIONS[1], None, EMOTIONS[31]]
    found = emotion_figures(logits, names)
    assert found.pop("responses") == 4
    assert list(found) == ["emotion_top1", "emotion_top2", "emotion_top5"]
    assert list(found.values()) == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert likeliest(logits[:1]) == [EMOTIONS[0]]
    assert emotion_figures(logits[:1], [None]) == {}
    assert emotion_numbers(["afraid", None, "trusting"]).tolist() == [0, -1, 31]


# Laws


def test_a_weight_of_zero_is_the_plain_ranker(checkpoint: Path) -> None:
    """The same start, loss and gradients, bit for bit."""
    for make in (small_transformer, lambda **changes: small_bert(checkpoint, **changes)):
        plain, idle = make().train(), make(multitask=0).train()
        wanted, slopes = backward(plain, both_ways=True, chunk=2, kept=1)
        losses, found = backward(idle, both_ways=True, chunk=2, kept=1)
        assert losses["nll"].item() == wanted["nll"].item()
        assert slopes.keys() == {name for name in found if not name.startswith("added.")}
        assert all(torch.equal(found[name], slopes[name]) for name in slopes)
        assert not any(slope.any() for name, slope in found.items() if name.startswith("added."))


def test_cached_gradients_are_the_plain_ones(ranker: Ranker) -> None:
    """In chunks, kept or encoded twice, as the one sum differentiated at once."""
    ranker.train()
    outputs = ranker("context", CONTEXTS, emotions=True)
    x, logits = outputs[:, : ranker.width], outputs[:, ranker.width :]
    y = ranker("candidate", [(text,) for text in RESPONSES])
    scores = ranker.config.scale * x @ y.t()
    scores[0, 4] = scores[4, 0] = -torch.inf  # both answer 'oh no'
    known = torch.tensor([0, 1, 2, 4])
    gold = torch.tensor([EMOTIONS.index(name) for name in FEELINGS if name])
    emotion = nn.functional.cross_entropy(logits[known], gold)
    whole = nn.functional.cross_entropy(scores, torch.arange(5)) + 0.5 * emotion
    whole.backward()  # type: ignore[no-untyped-call]
    wanted = {name: one.grad.clone() for name, one in ranker.named_parameters() if one.grad is not None}
    for chunk, kept in ((99, 99), (2, 0), (1, 3)):
        losses, slopes = backward(ranker, chunk=chunk, kept=kept)
        assert losses["nll"].item() + 0.5 * losses["emotion"].item() == pytest.approx(whole.item(), abs=1e-5)
        assert slopes.keys() == wanted.keys()
        assert all(torch.allclose(slopes[name], wanted[name], atol=1e-5) for name in wanted)


def test_emotions_are_read_in_company_as_alone(ranker: Ranker) -> None:
    together, logits = ranker.read_contexts(CONTEXTS)
    assert logits is not None
    assert together == pytest.approx(ranker.encode_contexts(CONTEXTS), abs=1e-6)
    alone = [ranker.read_contexts([context])[1] for context in CONTEXTS]
    assert logits == pytest.approx(np.concatenate(alone), abs=1e-5)  # type: ignore[arg-type]


def test_saved_and_loaded(ranker: Ranker, tmp_path: Path) -> None:
    """The linear layer comes back; without its file there is an error; a plain ranker may start from it and it from one."""
    ranker.eval().save(tmp_path)
    write_config(tmp_path, run_config(ranker.config))
    again = rankers.load(tmp_path)
    assert torch.equal(head(again).weight, head(ranker).weight)
    assert again.fingerprint() == ranker.fingerprint()
    vectors, logits = ranker.read_contexts(CONTEXTS)
    assert again.read_contexts(CONTEXTS)[1] == pytest.approx(logits, abs=1e-6)
    plain = rankers.load(tmp_path, RankerConfig(**(vars(ranker.config) | {"multitask": None})))
    assert plain.read_contexts(CONTEXTS)[1] is None
    assert plain.encode_contexts(CONTEXTS) == pytest.approx(vectors, abs=1e-6)
    plain.save(tmp_path / "plain")
    extended = rankers.load(tmp_path / "plain", ranker.config)
    assert extended.encode_contexts(CONTEXTS) == pytest.approx(vectors, abs=1e-6)
    assert not torch.equal(head(extended).weight, head(ranker).weight)
    (tmp_path / "weights.safetensors").unlink()
    with pytest.raises(HarkenError, match=r"weights\.safetensors: there is no such file"):
        rankers.load(tmp_path)


# Learning

MADE = ("sad", "proud", "afraid", "joyful")


@pytest.fixture
def made(home: Path) -> None:
    """25 things times 24 deeds, each told once and answered in other words; how one feels depends on the deed."""
    talks = [
        Dialogue(
            f"{deed}-{thing}",
            (Turn("speaker", f"i did{deed} my own{thing}"), Turn("listener", f"that{thing} was done{deed} well")),
            emotion=MADE[deed % 4] if thing else None,
            split={0: "valid", 1: "test"}.get((deed + thing) % 6, "train"),  # type: ignore[arg-type]
            source="made",
        )
        for deed in range(24)
        for thing in range(25)
    ]
    store.save("made", talks, title="", citation="", licence="", origin="here")


def config(tmp_path: Path, *changes: str) -> RankerRunConfig:
    return retrieval_parts.config(tmp_path, "network.multitask=emotion", *changes)


@pytest.mark.slow
def test_emotions_are_learnt_beside_the_ranking(made: None, tmp_path: Path) -> None:
    """From a guess among 32 to nearly all, on contexts never seen, told in metrics, log, card and replies."""
    changes = ("training.max_steps=100", "training.validate_every=50")
    folder = tmp_path / "run"
    metrics = train(config(tmp_path, *changes), folder)
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    first, *_, last = (line["valid"] for line in lines if "valid" in line)
    assert first["emotion_top1"] < 0.3
    assert last["emotion_top1"] > 0.8
    assert metrics["test"]["emotion_top1"] > 0.8
    assert metrics["test"]["p@1,100"] > 80
    assert {"nll", "emotion", "accuracy"} < {*next(line for line in lines if line.get("step") == 50)}
    assert "Emotion of the context, top 1 / 2 / 5: valid" in (folder / "README.md").read_text(encoding="utf-8")
    said = Turn("speaker", "i did2 my own9")
    assert load_listener(folder).reply([said]).emotion == "afraid"
    write_replies(folder, "test", tmp_path / "replies.jsonl")
    records = [json.loads(line) for line in (tmp_path / "replies.jsonl").read_text(encoding="utf-8").splitlines()]
    labelled = [record for record in records if record["emotion"]]
    right = sum(record["emotion"] == record["predicted_emotion"] for record in labelled)
    assert right / len(labelled) == pytest.approx(metrics["test"]["emotion_top1"])


@pytest.mark.slow
def test_a_weight_of_zero_trains_as_the_plain_ranker(made: None, tmp_path: Path) -> None:
    plain, idle = Losses(), Losses()
    train(config(tmp_path, "network.multitask=null"), tmp_path / "plain", watchers=[plain])
    train(config(tmp_path, "network.multitask=0"), tmp_path / "idle", watchers=[idle])
    assert [one["nll"] for one in plain.seen] == [one["nll"] for one in idle.seen]


@pytest.mark.slow
def test_a_stopped_run_goes_on_as_if_it_had_not(made: None, tmp_path: Path) -> None:
    whole, before, after = Losses(), Losses(3), Losses()
    train(config(tmp_path), tmp_path / "whole", watchers=[whole])
    with pytest.raises(StopRequested):
        train(config(tmp_path), tmp_path / "run", watchers=[before])
    train(config(tmp_path), tmp_path / "run", resume=True, watchers=[after])
    assert before.seen + after.seen == whole.seen
    assert rankers.load(tmp_path / "run").fingerprint() == rankers.load(tmp_path / "whole").fingerprint()


def test_the_ranker_s_own_reading_filters_exemplars(made: None, tmp_path: Path) -> None:
    """An untrained layer that hears `proud` in everything: so the listener reports, and the exemplars are proud ones."""
    ranker = small_transformer(multitask=1, normalise=True)
    with torch.no_grad():
        head(ranker).bias[EMOTIONS.index("proud")] = 1e3
    folder = tmp_path / "run"
    write_config(folder, run_config(ranker.config))
    ranker.save(folder)
    assert load_listener(folder).reply([Turn("speaker", "i lost my dog")]).emotion == "proud"
    finder = Finder(Index.open(folder / "index"))
    found = finder.live(["i lost my dog"], 3)
    assert found.emotion == "proud"
    assert all("proud" in one.emotions for one in found.exemplars)
    header = write_exemplars(finder, tmp_path / "exemplars.jsonl", corpus="made", split="test", limit=3)
    assert header.emotions == "ranker"


# Mistakes


def test_a_corpus_without_emotions(home: Path, tmp_path: Path) -> None:
    turns = (Turn("speaker", "i won"), Turn("listener", "well done"))
    talks = [Dialogue(f"{s}{n}", turns, split=s, source="mute") for s in ("train", "valid") for n in range(100)]
    store.save("mute", talks, title="", citation="", licence="", origin="here")
    with pytest.raises(HarkenError, match=r"mute: no dialogue of the train split has an emotion"):
        train(config(tmp_path, "corpora=[mute]"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("network.multitask=-1", "network.multitask = -1.0 is the weight of a loss and must not be negative"),
        ("network.multitask=.inf", "network.multitask = inf is the weight of a loss"),
        ("network.multitask=.nan", "network.multitask = nan is the weight of a loss"),
        ("network.multitask=emotions", "network.multitask = 'emotions' must be emotion or a number or null"),
    ],
)
def test_weights_that_are_none(tmp_path: Path, change: str, message: str) -> None:
    """Told together with whatever else is wrong."""
    with pytest.raises(HarkenError) as caught:
        config(tmp_path, change, "training.chunk=0")
    assert message in str(caught.value)
    assert "training.chunk = 0" in str(caught.value)
